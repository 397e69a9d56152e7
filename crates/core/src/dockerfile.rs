//! A Dockerfile as it is read before it is built: its instructions, the images that it starts from and the
//! files that it takes.
//!
//! [`Dockerfile::parse`] reads what engines read; [`permit`] says what a build of ours does not do,
//! [`rules`] what is unwise in it, [`ignore`] which files are not sent. Deliberately absent: shell syntax, and
//! anything that an engine would carry out.

pub mod ignore;
pub mod permit;
pub mod rules;

use std::collections::BTreeMap;

use crate::image::ImageRef;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dockerfile {
    /// `# syntax=`, `# escape=`, `# check=`.
    pub directives: BTreeMap<String, String>,
    pub instructions: Vec<Instruction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it begins, counted from 1.
    pub line: usize,
    /// In capitals.
    pub keyword: String,
    /// `--name=value`, without the dashes.
    pub flags: Vec<(String, String)>,
    /// What follows, on one line.
    pub rest: String,
}

impl Instruction {
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Its words: those of a JSON list, or what stands between spaces.
    pub fn words(&self) -> Vec<String> {
        match serde_json::from_str::<Vec<String>>(&self.rest) {
            Ok(words) => words,
            Err(_) => self.rest.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

/// An image that a build needs: which, or the text that could not be made out.
pub type Base = Result<ImageRef, String>;

impl Dockerfile {
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let directives = directives(text);
        let escape =
            if directives.get("escape").is_some_and(|sign| sign == "`") { '`' } else { '\\' };
        let mut instructions = Vec::new();
        let mut open: Option<(usize, String)> = None;
        for (at, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            // Comments and empty lines may stand between the lines of one instruction.
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let (begun, mut so_far) = open.take().unwrap_or((at + 1, String::new()));
            match line.trim_end().strip_suffix(escape) {
                Some(part) => {
                    so_far.push_str(part);
                    open = Some((begun, so_far));
                }
                None => {
                    so_far.push_str(line);
                    instructions.push(instruction(begun, &so_far));
                }
            }
        }
        instructions.extend(open.map(|(begun, text)| instruction(begun, &text)));
        Self { directives, instructions }
    }

    /// Images that are started from or copied from, in order, each once.
    pub fn bases(&self) -> Vec<Base> {
        let mut stages: Vec<String> = Vec::new();
        let mut arguments: BTreeMap<String, String> = BTreeMap::new();
        let mut bases: Vec<Base> = Vec::new();
        let mut begun = 0_usize;
        for instruction in &self.instructions {
            let words = instruction.words();
            let name = match instruction.keyword.as_str() {
                "ARG" if begun == 0 => {
                    let pairs = words.iter().filter_map(|word| word.split_once('='));
                    // That one a build gives another value.
                    for (name, value) in pairs.filter(|(name, _)| *name != "SOURCE_DATE_EPOCH") {
                        arguments
                            .insert(name.to_owned(), value.trim_matches(['"', '\'']).to_owned());
                    }
                    continue;
                }
                "FROM" => {
                    begun += 1;
                    let image = words.first().cloned().unwrap_or_default();
                    if let [_, word, name] = words.as_slice()
                        && word.eq_ignore_ascii_case("as")
                    {
                        stages.push(name.to_ascii_lowercase());
                    }
                    image
                }
                "COPY" | "ADD" => match instruction.flag("from") {
                    Some(from) => from.to_owned(),
                    None => continue,
                },
                _ => continue,
            };
            let is_from = instruction.keyword == "FROM";
            let own = stages.contains(&name.to_ascii_lowercase())
                || (!is_from && name.parse::<usize>().is_ok_and(|number| number < begun));
            if (own && !(is_from && stages.last() == Some(&name))) || name == "scratch" {
                continue;
            }
            let base = filled_in(&name, &arguments).parse::<ImageRef>().map_err(|_| name.clone());
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        bases
    }

    /// The files of the context that are taken, where they are named plainly; `None` where it could be any.
    pub fn sources(&self) -> Option<Vec<String>> {
        let mut sources = Vec::new();
        for instruction in &self.instructions {
            if !matches!(instruction.keyword.as_str(), "COPY" | "ADD")
                || instruction.flag("from").is_some()
            {
                continue;
            }
            let words = instruction.words();
            let (_, files) = words.split_last()?;
            for file in files {
                let plain = file.trim_start_matches("./").trim_matches('/');
                let is_plain = !plain.is_empty()
                    && !plain.contains(['*', '?', '[', '$', '\\', '<'])
                    && !plain.split('/').any(|name| matches!(name, "." | ".."));
                if is_remote(file) {
                    continue;
                }
                if !is_plain {
                    return None;
                }
                sources.push(plain.to_owned());
            }
        }
        Some(sources)
    }
}

/// Whether an `ADD` would fetch it.
pub fn is_remote(source: &str) -> bool {
    source.contains("://") || source.starts_with("git@") || source.ends_with(".git")
}

/// A text with the arguments that it names; what cannot be filled in stays as it is.
fn filled_in(text: &str, arguments: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let bare = after.strip_prefix('{').unwrap_or(after);
        let end = bare.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(bare.len());
        let (name, tail) = bare.split_at(end);
        let tail = if bare.len() < after.len() { tail.strip_prefix('}') } else { Some(tail) };
        match (arguments.get(name), tail) {
            (Some(value), Some(tail)) => {
                out.push_str(value);
                rest = tail;
            }
            _ => {
                out.push('$');
                rest = after;
            }
        }
    }
    out + rest
}

fn directives(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // Engines differ in where they stop looking. Whatever stands before the first instruction counts here.
    let lines = text.lines().map(str::trim);
    for line in lines.take_while(|line| line.is_empty() || line.starts_with('#')) {
        let Some((name, value)) = line.trim_start_matches('#').split_once('=') else { continue };
        let name = name.trim().to_ascii_lowercase();
        if matches!(name.as_str(), "syntax" | "escape" | "check") {
            found.insert(name, value.trim().to_owned());
        }
    }
    found
}

fn instruction(line: usize, text: &str) -> Instruction {
    let text = text.trim();
    let (keyword, mut rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut flags = Vec::new();
    rest = rest.trim_start();
    while let Some(flag) = rest.strip_prefix("--") {
        let (flag, after) = flag.split_once(char::is_whitespace).unwrap_or((flag, ""));
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        flags.push((name.to_ascii_lowercase(), value.to_owned()));
        rest = after.trim_start();
    }
    Instruction { line, keyword: keyword.to_ascii_uppercase(), flags, rest: rest.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn instructions_with_flags_over_several_lines() {
        let text = "# syntax=x/y:1\n# escape=`\nFROM a:1 AS one\nrun --mount=type=cache,target=/c `\n  # why\n  make `\n  all\n";
        let file = Dockerfile::parse(text);
        assert_eq!(file.directives["syntax"], "x/y:1");
        assert_eq!(file.instructions.len(), 2);
        let run = &file.instructions[1];
        assert_eq!((run.line, run.keyword.as_str()), (4, "RUN"));
        assert_eq!(run.flag("mount"), Some("type=cache,target=/c"));
        assert_eq!(run.rest.split_whitespace().collect::<Vec<_>>(), ["make", "all"]);
    }

    #[test]
    fn bases_are_images_and_not_stages() {
        let text = "ARG V=1.2\nARG VERSION=9\nFROM a:${V} AS build\nFROM build AS next\nFROM scratch\nCOPY --from=0 /a /b\nCOPY --from=b:3 /a /b\nCOPY --from=next x y\nFROM c:$W\nFROM d:$VERSION-$V\nFROM e:${V:-2}\n";
        let bases = Dockerfile::parse(text).bases();
        let shown: Vec<_> =
            bases.iter().map(|base| base.as_ref().map(ToString::to_string)).collect();
        assert_eq!(
            shown,
            [
                Ok("a:1.2".to_owned()),
                Ok("b:3".to_owned()),
                Err(&"c:$W".to_owned()),
                Ok("d:9-1.2".to_owned()),
                Err(&"e:${V:-2}".to_owned())
            ]
        );
    }

    #[test]
    fn plain_sources_are_known() {
        let of = |text: &str| Dockerfile::parse(text).sources();
        assert_eq!(
            of("COPY [\"a\", \"b/c\", \"/x/\"]\nCOPY --from=y z /z\n").unwrap(),
            ["a", "b/c"]
        );
        assert_eq!(of("COPY ./a /b\n").unwrap(), ["a"]);
        for any in ["COPY . /x\n", "COPY *.go /x\n", "COPY $A /x\n", "COPY ../a /x\n"] {
            assert_eq!(of(any), None, "{any}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_stumble(text in any::<String>()) {
            let file = Dockerfile::parse(&text);
            file.bases();
            file.sources();
            permit::objections(&file, crate::spec::Network::None);
            rules::findings(&file);
        }
    }
}
