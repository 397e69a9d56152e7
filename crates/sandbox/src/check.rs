//! A look at source code before it is run: `cofferdam check`.
//!
//! [`Validator`] holds rules and levels; [`Validator::check`] looks at one file and says what it found. It decides by
//! the text alone: the same bytes give the same findings on every machine, however slow. Time and memory follow from
//! the text's length, and what is too much to look at is a finding.
//!
//! Deliberately absent: running anything, and any promise. Code that is not found here is harmless because of the
//! sandbox, not because of this.

mod language;
mod own;
mod python;
mod resolved;
mod rules;
mod scan;
mod script;
mod shell;
mod sink;
mod suppression;

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use cofferdam_core::check::{FileReport, Levels, Profile};

pub use language::Lang;
pub use own::{ALL as OWN_RULES, OwnRule};
pub use rules::{RuleError, RuleFacts};
pub(crate) use scan::{depth, tree};

use python::Words;
use rules::{LARGEST_FILE, RuleFile, Ruleset, Sight};
use scan::{Depth, TooHard};
use sink::Sink;
use suppression::Suppressions;

/// The largest file that is looked at.
pub const LARGEST_SOURCE: usize = 16 << 20;

/// Whether comments in the code may silence findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlineAllow {
    Refused,
    Honoured,
}

/// A file to look at.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// What it is called in the report.
    pub name: &'a str,
    pub lang: Lang,
    pub bytes: &'a [u8],
}

/// Rules and levels. Made once, used for many files; grammars and rules of a language are loaded when the first
/// file of it comes.
#[derive(Debug)]
pub struct Validator {
    levels: Levels,
    inline: InlineAllow,
    user: Vec<RuleFile>,
    loaded: [OnceLock<Result<Loaded, Arc<RuleError>>>; 5],
}

#[derive(Debug)]
struct Loaded {
    resolved: Ruleset,
    raw: Ruleset,
    words: Words,
}

impl Validator {
    /// A validator with the built-in rules.
    pub fn new(levels: Levels, inline: InlineAllow) -> Self {
        Self { levels, inline, user: Vec::new(), loaded: Default::default() }
    }

    /// Adds the rules of a file. They are refused where their examples do not hold.
    pub fn add_rules(&mut self, path: &Path) -> Result<(), Arc<RuleError>> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| Arc::new(RuleError::Read { path: path.to_owned(), source }))?;
        if text.len() > LARGEST_FILE {
            return Err(Arc::new(RuleError::TooLarge { path: path.to_owned() }));
        }
        self.add_rule_text(&name, &text)
    }

    /// The same for rules that were read already.
    pub fn add_rule_text(&mut self, name: &str, text: &str) -> Result<(), Arc<RuleError>> {
        let file = RuleFile::parse(name, text).map_err(Arc::new)?;
        if let Some(failure) = failures(&file)?.into_iter().next() {
            return Err(Arc::new(failure));
        }
        self.user.push(file);
        self.loaded = Default::default();
        Ok(())
    }

    /// Looks at one file.
    pub fn check(&self, source: Source<'_>) -> Result<FileReport, Arc<RuleError>> {
        let mut sink = Sink::new(&self.levels);
        let read = std::str::from_utf8(source.bytes);
        let text = match read {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(source.bytes),
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut suppressions = Suppressions::default();
        if self.levels.profile == Profile::Off {
            return Ok(sink.report(source.name, source.lang.name(), "", &suppressions));
        }
        if source.bytes.len() > LARGEST_SOURCE {
            sink.own(&own::TOO_LARGE, 0..0);
            return Ok(sink.report(source.name, source.lang.name(), "", &suppressions));
        }
        if self.inline == InlineAllow::Honoured {
            suppressions = Suppressions::of(text);
        }
        let loaded = self.loaded(source.lang)?;
        if let Err(error) = read {
            sink.own(&own::ENCODING, error.valid_up_to()..error.valid_up_to());
        }
        for at in turns(text).take(MOST_INVISIBLE) {
            sink.own(&own::INVISIBLE, at..at);
        }
        if source.lang == Lang::Python {
            python::check(text, &loaded.resolved, &loaded.words, &mut sink);
        }
        if source.lang == Lang::Shell {
            shell::check(text, &mut sink);
        }
        look_at_tree(text, source.lang, loaded, &mut sink);
        Ok(sink.report(source.name, source.lang.name(), text, &suppressions))
    }

    /// What is known of every rule, built in and added.
    pub fn rules(&self) -> Result<Vec<RuleFacts>, RuleError> {
        let built_in = built_in()?;
        let facts = built_in.iter().chain(&self.user).flat_map(RuleFile::facts);
        Ok(facts.cloned().collect())
    }

    fn loaded(&self, lang: Lang) -> Result<&Loaded, Arc<RuleError>> {
        let at = Lang::ALL.iter().position(|one| *one == lang).unwrap_or_default();
        let loaded = self.loaded[at].get_or_init(|| self.load(lang).map_err(Arc::new));
        loaded.as_ref().map_err(Arc::clone)
    }

    fn load(&self, lang: Lang) -> Result<Loaded, RuleError> {
        let built_in = built_in()?;
        let files: Vec<&RuleFile> = built_in.iter().chain(&self.user).collect();
        let resolved = rules::compile(&files, lang, Sight::Resolved)?;
        let raw = rules::compile(&files, lang, Sight::Raw)?;
        let words = Words::new(resolved.words());
        Ok(Loaded { resolved, raw, words })
    }
}

/// Rules that need the tree of the whole file: a user's, and all of languages that have no faster way.
fn look_at_tree(text: &str, lang: Lang, loaded: &Loaded, sink: &mut Sink<'_>) {
    let is_script = matches!(lang, Lang::JavaScript | Lang::TypeScript | Lang::Tsx);
    if !is_script && loaded.raw.is_empty() {
        return;
    }
    let document = match scan::parse(text, lang, Depth::Measured) {
        Ok(document) => document,
        Err(TooHard::Steps) => return sink.own(&own::TOO_HARD, 0..0),
        Err(TooHard::Depth) => return sink.own(&own::TOO_DEEP, 0..0),
    };
    if is_script {
        for range in scan::errors(&document, MOST_ERRORS) {
            sink.own(&own::SYNTAX, range);
        }
        script::check(text, &document, &loaded.resolved, sink);
    }
    scan::matches(document, &loaded.raw, &mut |rule, range| {
        sink.rule(loaded.raw.facts(rule), range);
        ControlFlow::Continue(())
    });
}

const MOST_ERRORS: usize = 20;
const MOST_INVISIBLE: usize = 20;

/// Where characters stand that change the direction of the text after them: all begin with one byte, which is rare.
fn turns(text: &str) -> impl Iterator<Item = usize> {
    let turns_text = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let first = memchr::memchr_iter(0xe2, text.as_bytes());
    first.filter(move |&at| text[at..].starts_with(turns_text))
}

fn built_in() -> Result<Vec<RuleFile>, RuleError> {
    let texts = [
        ("python.yml", include_str!("check/rules/python.yml")),
        ("script.yml", include_str!("check/rules/script.yml")),
    ];
    texts.into_iter().map(|(name, text)| RuleFile::parse(name, text)).collect()
}

/// Holds the rules of a file against their own examples.
fn failures(file: &RuleFile) -> Result<Vec<RuleError>, Arc<RuleError>> {
    let every = Levels { warn: vec!["*".to_owned()], ..Levels::of_profile(Profile::Agent) };
    let only =
        Validator { user: vec![file.clone()], ..Validator::new(every, InlineAllow::Refused) };
    let mut failures = Vec::new();
    for facts in file.facts() {
        let found = |example: &str| {
            let source = Source { name: "example", lang: facts.lang, bytes: example.as_bytes() };
            let report = only.check(source)?;
            Ok::<_, Arc<RuleError>>(report.findings.iter().any(|finding| finding.rule == facts.id))
        };
        let (name, id) = (|| file.name().to_owned(), || facts.id.clone());
        for example in &facts.matches {
            if !found(example)? {
                failures.push(RuleError::NoMatch {
                    name: name(),
                    id: id(),
                    example: example.clone(),
                });
            }
        }
        for example in &facts.passes {
            if found(example)? {
                failures.push(RuleError::Match {
                    name: name(),
                    id: id(),
                    example: example.clone(),
                });
            }
        }
    }
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_rules_do_what_their_examples_say() {
        let mut problems = Vec::new();
        for file in built_in().unwrap() {
            problems.extend(failures(&file).unwrap().iter().map(ToString::to_string));
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
