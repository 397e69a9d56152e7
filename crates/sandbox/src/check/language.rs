//! The languages, with their grammars.

use std::borrow::Cow;
use std::path::Path;

use ast_grep_core::language::Language;
use ast_grep_core::matcher::{Pattern, PatternBuilder, PatternError};
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use serde::{Deserialize, Deserializer};

/// A language that can be checked. TypeScript has two grammars, with and without JSX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lang {
    Python,
    Shell,
    JavaScript,
    TypeScript,
    Tsx,
}

impl Lang {
    pub const ALL: [Self; 5] =
        [Self::Python, Self::Shell, Self::JavaScript, Self::TypeScript, Self::Tsx];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Shell => "shell",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
        }
    }

    /// By any of the names that people use.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "python" | "py" => Self::Python,
            "shell" | "bash" | "sh" => Self::Shell,
            "javascript" | "js" | "jsx" => Self::JavaScript,
            "typescript" | "ts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            _ => return None,
        })
    }

    /// By a file's name, or by its first line.
    pub fn of_file(path: &Path, head: &[u8]) -> Option<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("py" | "pyw" | "pyi") => Some(Self::Python),
            Some("sh" | "bash" | "ksh" | "dash") => Some(Self::Shell),
            Some("js" | "mjs" | "cjs" | "jsx") => Some(Self::JavaScript),
            Some("ts" | "mts" | "cts") => Some(Self::TypeScript),
            Some("tsx") => Some(Self::Tsx),
            _ => Self::of_interpreter(head),
        }
    }

    fn of_interpreter(head: &[u8]) -> Option<Self> {
        let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let program = words.find(|word| *word != "env" && !word.starts_with('-'))?;
        let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        match program {
            "python" | "pypy" => Some(Self::Python),
            "sh" | "bash" | "dash" | "ksh" | "ash" => Some(Self::Shell),
            "node" | "nodejs" | "bun" => Some(Self::JavaScript),
            "deno" | "tsx" | "ts-node" => Some(Self::TypeScript),
            _ => None,
        }
    }

    /// Languages whose files the rules of this one look at too.
    pub(super) const fn covers(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Python, Self::Python)
                | (Self::Shell, Self::Shell)
                | (Self::JavaScript, Self::JavaScript | Self::TypeScript | Self::Tsx)
                | (Self::TypeScript, Self::TypeScript | Self::Tsx)
                | (Self::Tsx, Self::Tsx)
        )
    }
}

impl<'de> Deserialize<'de> for Lang {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{name:?} is not python, bash, javascript, typescript or tsx"
            ))
        })
    }
}

impl Language for Lang {
    fn kind_to_id(&self, kind: &str) -> u16 {
        self.get_ts_language().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.get_ts_language().field_id_for_name(field).map(|id| id.get())
    }

    fn build_pattern(&self, builder: &PatternBuilder) -> Result<Pattern, PatternError> {
        builder.build(|source| StrDoc::try_new(source, *self))
    }

    /// Python knows no `$`; this letter can begin a name there and stands in no program.
    fn expando_char(&self) -> char {
        if *self == Self::Python { 'µ' } else { '$' }
    }

    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        match self {
            Self::Python => Cow::Owned(query.replace('$', "µ")),
            _ => Cow::Borrowed(query),
        }
    }
}

impl LanguageExt for Lang {
    fn get_ts_language(&self) -> TSLanguage {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Shell => tree_sitter_bash::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_ending_or_its_first_line() {
        let of = |name: &str, head: &str| Lang::of_file(Path::new(name), head.as_bytes());
        assert_eq!(of("a.py", ""), Some(Lang::Python));
        assert_eq!(of("a.TSX", ""), Some(Lang::Tsx));
        assert_eq!(of("tool", "#!/usr/bin/env python3.11\n"), Some(Lang::Python));
        assert_eq!(of("tool", "#!/usr/bin/env -S bash -e\n"), Some(Lang::Shell));
        assert_eq!(of("tool", "#!/bin/sh -e\n"), Some(Lang::Shell));
        assert_eq!(of("tool", "print(1)\n"), None);
        assert_eq!(of("a.txt", ""), None);
    }
}
