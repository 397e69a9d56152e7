// Colours for code, line by line: comments, strings, numbers, keywords. Simple on purpose: a wrong colour misleads less
// than a parser that can be made slow. Every expression here runs in linear time.

const C_LIKE = "if else for while do switch case break continue return struct enum union typedef static const void int char float double long unsigned signed class public private protected new delete this try catch throw import export default function let var async await extends implements interface package null true false type of in instanceof typeof yield from";
const FAMILIES = [
  { names: /\.(rs)$/, comment: "//", words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while" },
  { names: /\.(js|mjs|cjs|ts|tsx|jsx|c|h|cc|cpp|hpp|java|kt|swift|go|cs|scala|php|css|scss)$/, comment: "//", words: `${C_LIKE} func defer go chan select map range package fallthrough goto val fun object when override` },
  { names: /\.(py|pyi)$/, comment: "#", words: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case" },
  { names: /(\.(sh|bash|zsh|ya?ml|toml|ini|cfg|conf|rb|pl|tf|mk|env)|(^|\/)(Makefile|Dockerfile|Containerfile|\.gitignore|\.env[^/]*))$/, comment: "#", words: "if then else elif fi for in do done while case esac function return export local true false null yes no on off FROM RUN COPY ADD CMD ENTRYPOINT ENV ARG WORKDIR USER EXPOSE def end class module require unless begin rescue" },
  { names: /\.(sql)$/, comment: "--", words: "select from where insert into values update set delete create table index drop alter add join left right inner outer on group by order limit having as and or not null primary key unique" },
  { names: /\.(json|jsonc)$/, comment: "//", words: "true false null" },
].map((family) => ({ ...family, words: new Set(family.words.split(" ")) }));

const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\b\d[\w.]*|[A-Za-z_]\w*/g;

export function familyOf(path) {
  return FAMILIES.find((family) => family.names.test(path)) ?? null;
}

/** Ranges `[from, to, class]` of a line, in order. */
export function colours(text, family) {
  if (!family || text.length > 2000) return [];
  const cut = commentAt(text, family.comment);
  const code = cut < 0 ? text : text.slice(0, cut);
  const out = [];
  for (const { 0: token, index } of code.matchAll(TOKEN)) {
    const first = token[0];
    const kind = /["'`]/.test(first) ? "s" : /\d/.test(first) ? "n" : family.words.has(family.comment === "--" ? token.toLowerCase() : token) ? "k" : null;
    if (kind) out.push([index, index + token.length, kind]);
  }
  if (cut >= 0) out.push([cut, text.length, "c"]);
  return out;
}

/** Where a comment begins that does not stand within quotes. */
function commentAt(text, sign) {
  let quote = null;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (quote) {
      if (c === "\\") at++;
      else if (c === quote) quote = null;
    } else if (c === '"' || c === "'" || c === "`") quote = c;
    else if (text.startsWith(sign, at) && (sign !== "#" || at === 0 || /\s/.test(text[at - 1]))) return at;
  }
  return -1;
}
