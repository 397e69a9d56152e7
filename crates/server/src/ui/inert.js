// Text that somebody else controls, made visible and powerless: the page's counterpart of `core::inert`.
// What is not plainly visible (controls, direction marks, zero-width and private characters) comes out as an escape
// in a marked span, so that it neither acts nor hides, and is not mistaken for letters that were really there.

const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f" +
    "\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff\\ue000-\\uf8ff" +
    "\\ud800-\\udfff\\u{1107f}\\u{13430}-\\u{1343f}\\u{16fe4}\\u{1bc9d}\\u{1bca0}-\\u{1bca3}\\u{1d159}\\u{1d173}-\\u{1d17a}" +
    "\\u{1fffe}-\\u{1ffff}\\u{2fffe}-\\u{2ffff}\\u{3fffe}-\\u{3ffff}\\u{4fffe}-\\u{4ffff}\\u{5fffe}-\\u{5ffff}\\u{6fffe}-\\u{6ffff}" +
    "\\u{7fffe}-\\u{7ffff}\\u{8fffe}-\\u{8ffff}\\u{9fffe}-\\u{9ffff}\\u{afffe}-\\u{affff}\\u{bfffe}-\\u{bffff}\\u{cfffe}-\\u{cffff}\\u{dfffe}-\\u{dffff}" +
    "\\u{e0000}-\\u{10ffff}]",
  "gu",
);

function escape(c) {
  if (c === "\n") return "\\n";
  if (c === "\t") return "\\t";
  if (c === "\r") return "\\r";
  const code = c.codePointAt(0);
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** On one line, as a string: for attributes and sentences. */
export function line(text) {
  return String(text ?? "").replace(HIDDEN, escape);
}

/** As nodes, escapes marked. `keep` names characters that stand as they are. */
export function nodes(text, keep = "") {
  const out = document.createDocumentFragment();
  const whole = String(text ?? "");
  let from = 0;
  for (const found of whole.matchAll(HIDDEN)) {
    if (keep.includes(found[0])) continue;
    if (found.index > from) out.append(whole.slice(from, found.index));
    const mark = document.createElement("span");
    mark.className = "esc";
    mark.textContent = escape(found[0]);
    out.append(mark);
    from = found.index + found[0].length;
  }
  if (from < whole.length) out.append(whole.slice(from));
  return out;
}

/** A name within other text: its direction stays its own. */
export function name(text, className = "name") {
  const node = document.createElement("bdi");
  node.className = className;
  node.append(nodes(text));
  return node;
}
