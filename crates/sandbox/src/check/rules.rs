//! Rules as data, in the format of ast-grep, and the proof that each does what it says.
//!
//! A rule has an `id`, a `severity`, a `message`, a `note` (the reason) and, in its `metadata`, `examples` that must
//! match and that must not. A rule whose examples do not hold is refused, ours and a user's alike.
//! With `metadata.resolved: true` it is held against text in which names are what they stand for: `s(x)`
//! after `from os import system as s` reads `os.system(x)` there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use ast_grep_config::{
    GlobalRules, RuleConfig, RuleConfigError, RuleCore, SerializableRuleConfig, Severity,
    from_multiple,
};
use ast_grep_core::matcher::Matcher as _;
use cofferdam_core::check::Level;
use serde_json::Value;

use super::language::Lang;

/// Rule files are small; a large one is a mistake.
pub(super) const LARGEST_FILE: usize = 1 << 20;

/// Longer texts are not searched for names, one node after the other.
const LONGEST_NAMED: usize = 1024;

/// What is wrong with a set of rules.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("{} cannot be read", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: more than {LARGEST_FILE} bytes of rules", path.display())]
    TooLarge { path: PathBuf },
    #[error("{name}: not a rule: {message}")]
    Form { name: String, message: String },
    #[error("{name}: rule {id:?}: {message}")]
    Rule { name: String, id: String, message: String },
    #[error("{name}: rule {id:?} does not match its example {example:?}")]
    NoMatch { name: String, id: String, example: String },
    #[error("{name}: rule {id:?} matches {example:?}, an example of what it lets pass")]
    Match { name: String, id: String, example: String },
}

/// What is known of a rule besides its pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFacts {
    pub id: String,
    pub lang: Lang,
    pub level: Level,
    pub message: String,
    pub reason: String,
    pub matches: Vec<String>,
    pub passes: Vec<String>,
}

/// Text in which a rule is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// As it was written.
    Raw,
    /// With names as what they stand for.
    Resolved,
}

/// Where a word of rules has to stand for one of them to match: at any of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sites {
    pub(super) anywhere: bool,
    /// At the end of a path that begins with one of these names: `os` of `os.system`.
    pub(super) after: BTreeSet<String>,
    /// The same for rules that match only what has a text in it: `open` of `builtins.open("/etc")`.
    pub(super) beside_text: BTreeSet<String>,
    /// Where a name stands for the word and for nothing beneath it: `builtins` of `builtins.$F = $Y`.
    pub(super) alone: bool,
    /// In a text.
    pub(super) in_text: bool,
}

impl Sites {
    fn anywhere() -> Self {
        Self { anywhere: true, ..Self::default() }
    }

    fn join(&mut self, other: Self) {
        self.anywhere |= other.anywhere;
        self.after.extend(other.after);
        self.beside_text.extend(other.beside_text);
        self.alone |= other.alone;
        self.in_text |= other.in_text;
    }
}

/// Rules for one language and one sight.
pub(super) struct Ruleset {
    rules: Vec<(RuleFacts, RuleCore)>,
    by_kind: Vec<Vec<usize>>,
    /// Rules whose patterns all have a name in them, by those names.
    by_word: HashMap<String, Vec<usize>>,
    /// Rules that may match whatever names stand there.
    wordless: Vec<bool>,
    words: BTreeMap<String, Sites>,
}

impl std::fmt::Debug for Ruleset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|(facts, _)| &facts.id)).finish()
    }
}

impl Ruleset {
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(super) fn of_kind(&self, kind: u16) -> &[usize] {
        self.by_kind.get(usize::from(kind)).map_or(&[], Vec::as_slice)
    }

    /// The rules of a kind that can match a node with this text at all: one of their names must stand in it.
    pub(super) fn of_text(&self, kind: u16, text: &str, into: &mut Vec<usize>) {
        into.clear();
        let fitting = self.of_kind(kind);
        if text.len() > LONGEST_NAMED {
            return into.extend(fitting);
        }
        into.extend(fitting.iter().filter(|rule| self.wordless[**rule]));
        for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            for rule in self.by_word.get(name).into_iter().flatten() {
                if !into.contains(rule) && fitting.contains(rule) {
                    into.push(*rule);
                }
            }
        }
    }

    pub(super) fn matcher(&self, rule: usize) -> &RuleCore {
        &self.rules[rule].1
    }

    pub(super) fn facts(&self, rule: usize) -> &RuleFacts {
        &self.rules[rule].0
    }

    /// One of these stands in every text that a rule of this set can match.
    pub(super) fn words(&self) -> &BTreeMap<String, Sites> {
        &self.words
    }
}

/// The text of a rule file, read and understood, for every language that it speaks of.
#[derive(Debug, Clone)]
pub(super) struct RuleFile {
    name: String,
    documents: Vec<Document>,
}

#[derive(Clone)]
struct Document {
    config: SerializableRuleConfig<Lang>,
    sight: Sight,
    words: BTreeMap<String, Sites>,
    words_are_listed: bool,
    facts: RuleFacts,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.facts.fmt(f)
    }
}

impl RuleFile {
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, RuleError> {
        let form = |message: String| RuleError::Form { name: name.to_owned(), message };
        let configs: Vec<SerializableRuleConfig<Lang>> =
            from_multiple(text).map_err(|error| form(error.to_string()))?;
        let values: Vec<Value> = from_multiple(text).map_err(|error| form(error.to_string()))?;
        let documents = configs.into_iter().zip(&values);
        let documents = documents.map(|(config, value)| document(name, config, value));
        Ok(Self { name: name.to_owned(), documents: documents.collect::<Result<_, _>>()? })
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = &RuleFacts> {
        self.documents.iter().map(|document| &document.facts)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Compiles what `files` have for a language.
pub(super) fn compile(files: &[&RuleFile], lang: Lang, sight: Sight) -> Result<Ruleset, RuleError> {
    let mut set = Ruleset {
        rules: Vec::new(),
        by_kind: Vec::new(),
        by_word: HashMap::new(),
        wordless: Vec::new(),
        words: BTreeMap::new(),
    };
    for file in files {
        let fitting =
            |document: &&Document| document.sight == sight && document.facts.lang.covers(lang);
        for document in file.documents.iter().filter(fitting) {
            let mut config = document.config.clone();
            config.language = lang;
            let rule = RuleConfig::try_from(config, &GlobalRules::default());
            let rule = rule.map_err(|error| RuleError::Rule {
                name: file.name.clone(),
                id: document.facts.id.clone(),
                message: chain(&error),
            })?;
            join(&mut set.words, document.words.clone());
            let at = set.rules.len();
            for kind in rule
                .matcher
                .potential_kinds()
                .into_iter()
                .flat_map(|kinds| kinds.iter().collect::<Vec<_>>())
            {
                if set.by_kind.len() <= kind {
                    set.by_kind.resize(kind + 1, Vec::new());
                }
                set.by_kind[kind].push(at);
            }
            // Words that were listed say what a text must have for the rule to be tried, not what a node must.
            let is_named = document.sight == Sight::Resolved
                && !document.words_are_listed
                && !document.words.is_empty();
            set.wordless.push(!is_named);
            for word in document.words.keys().filter(|_| is_named) {
                set.by_word.entry(word.clone()).or_default().push(at);
            }
            set.rules.push((document.facts.clone(), rule.matcher));
        }
    }
    Ok(set)
}

fn chain(error: &RuleConfigError) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}

fn document(
    name: &str,
    config: SerializableRuleConfig<Lang>,
    value: &Value,
) -> Result<Document, RuleError> {
    let id = config.id.clone();
    let wrong = |message: &str| RuleError::Rule {
        name: name.to_owned(),
        id: id.clone(),
        message: message.to_owned(),
    };
    let good = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    if id.is_empty() || !id.chars().all(good) {
        return Err(wrong("`id` is a name of letters, digits, `/`, `-`, `_` and `.`"));
    }
    if config.message.trim().is_empty() {
        return Err(wrong("`message` says what was found"));
    }
    let reason = config.note.clone().unwrap_or_default();
    if reason.trim().is_empty() {
        return Err(wrong("`note` says why it matters"));
    }
    if value.get("severity").is_none() {
        return Err(wrong("`severity` is error, warning or off"));
    }
    let level = match config.severity {
        Severity::Error => Level::Deny,
        Severity::Off => Level::Off,
        Severity::Warning | Severity::Info | Severity::Hint => Level::Warn,
    };
    for (field, is_there) in [
        ("fix", config.fix.is_some()),
        ("files", config.files.is_some()),
        ("ignores", config.ignores.is_some()),
    ] {
        if is_there {
            return Err(wrong(&format!("`{field}` has no effect here: leave it out")));
        }
    }
    let metadata = value.get("metadata").cloned().unwrap_or_default();
    let examples = |kind: &str| -> Result<Vec<String>, RuleError> {
        let found = metadata.get("examples").and_then(|e| e.get(kind)).and_then(Value::as_array);
        let found: Option<Vec<String>> =
            found.and_then(|all| all.iter().map(|e| e.as_str().map(str::to_owned)).collect());
        found.filter(|all| !all.is_empty()).ok_or_else(|| {
            wrong(&format!("`metadata.examples.{kind}` is a list of texts, at least one"))
        })
    };
    let sight = match metadata.get("resolved") {
        None | Some(Value::Bool(false)) => Sight::Raw,
        Some(Value::Bool(true)) => Sight::Resolved,
        Some(_) => return Err(wrong("`metadata.resolved` is true or false")),
    };
    let rule = value.get("rule").ok_or_else(|| wrong("`rule` is missing"))?;
    let mut words = BTreeMap::new();
    if let Some(listed) = metadata.get("words").and_then(Value::as_array) {
        let in_text = rule.get("kind").and_then(Value::as_str) == Some("string");
        let sites = match in_text && config.language == Lang::Python {
            true => Sites { in_text: true, ..Sites::default() },
            false => Sites::anywhere(),
        };
        let listed = listed.iter().filter_map(Value::as_str);
        words.extend(listed.map(|word| (word.to_owned(), sites.clone())));
    }
    let words_are_listed = !words.is_empty();
    if !words_are_listed {
        words = rule_words(rule).unwrap_or_default();
    }
    if needs_text(rule) && config.language == Lang::Python {
        for sites in words.values_mut() {
            sites.beside_text = std::mem::take(&mut sites.after);
        }
    }
    if sight == Sight::Resolved && config.language == Lang::Python && words.is_empty() {
        return Err(wrong(
            "a resolved rule has a name in each of its patterns, or `metadata.words`, one of which is in all that it \
             matches",
        ));
    }
    let facts = RuleFacts {
        id: id.clone(),
        lang: config.language,
        level,
        message: config.message.trim().to_owned(),
        reason: reason.trim().to_owned(),
        matches: examples("matches")?,
        passes: examples("passes")?,
    };
    Ok(Document { config, sight, words, words_are_listed, facts })
}

/// Names of which one stands in everything that a rule can match; none where that cannot be told.
fn rule_words(rule: &Value) -> Option<BTreeMap<String, Sites>> {
    let pattern = rule.get("pattern").and_then(Value::as_str).and_then(pattern_word);
    if let Some(word) = pattern {
        return Some([word].into());
    }
    // Of several that must hold, one is enough to go by; of several that may, each is needed.
    let all = rule.get("all").and_then(Value::as_array);
    let all = all.and_then(|all| all.iter().find_map(rule_words));
    all.or_else(|| {
        let any = rule.get("any").and_then(Value::as_array)?;
        let mut words = BTreeMap::new();
        for rule in any {
            join(&mut words, rule_words(rule)?);
        }
        Some(words)
    })
}

/// Whether a text stands in everything that a rule can match.
fn needs_text(rule: &Value) -> bool {
    let listed = |name: &str| rule.get(name).and_then(Value::as_array);
    rule.get("kind").and_then(Value::as_str) == Some("string")
        || rule.get("has").is_some_and(needs_text)
        || listed("all").is_some_and(|all| all.iter().any(needs_text))
        || listed("any").is_some_and(|any| !any.is_empty() && any.iter().all(needs_text))
}

fn join(into: &mut BTreeMap<String, Sites>, more: BTreeMap<String, Sites>) {
    for (word, sites) in more {
        into.entry(word).or_default().join(sites);
    }
}

/// The name that a pattern is about: the last one before its first bracket.
fn pattern_word(pattern: &str) -> Option<(String, Sites)> {
    let head = pattern.split(['(', '[']).next().unwrap_or(pattern);
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let word = head.split(|c: char| !is_name(c)).rfind(|word| {
        !word.is_empty() && !word.contains('$') && !["import", "from", "new"].contains(word)
    })?;
    let path: Vec<&str> = head.split('.').collect();
    let is_path = path.iter().all(|name| !name.is_empty() && name.chars().all(is_name));
    let sites = match path.as_slice() {
        [root, .., last] if is_path && *last == word && !head.contains('$') => {
            Sites { after: [(*root).to_owned()].into(), ..Sites::default() }
        }
        // What is assigned to is written there: a name that stands for it is read, not written.
        [root, rest] if *root == word && rest.starts_with('$') && rest.contains(" = ") => {
            Sites { alone: true, ..Sites::default() }
        }
        _ => Sites::anywhere(),
    };
    Some((word.to_owned(), sites))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_pattern() {
        let of = |root: &str| Sites { after: [root.to_owned()].into(), ..Sites::default() };
        for (pattern, word, sites) in [
            ("os.system", "system", of("os")),
            ("urllib.request.urlopen($$$)", "urlopen", of("urllib")),
            ("builtins.getattr(builtins, $$$)", "getattr", of("builtins")),
            ("from socket import $$$", "socket", Sites::anywhere()),
            ("import http.client", "client", Sites::anywhere()),
            ("subprocess.$F", "subprocess", Sites::anywhere()),
            ("$X.__subclasses__", "__subclasses__", Sites::anywhere()),
            ("antigravity", "antigravity", Sites::anywhere()),
            ("sys.modules[$X] = $Y", "modules", of("sys")),
            ("builtins.$F = $Y", "builtins", Sites { alone: true, ..Sites::default() }),
        ] {
            assert_eq!(pattern_word(pattern), Some((word.to_owned(), sites)), "{pattern}");
        }
        assert_eq!(pattern_word("$X"), None);
    }

    #[test]
    fn a_rule_about_texts_is_known_by_its_parts() {
        let text = serde_json::json!({ "kind": "string", "regex": "x" });
        let call = serde_json::json!({ "pattern": "os.open($$$)" });
        let argument = serde_json::json!({ "kind": "keyword_argument", "has": text });
        for (rule, needs) in [
            (serde_json::json!({ "all": [call, { "has": { "any": [text, argument] } }] }), true),
            (serde_json::json!({ "any": [call, text] }), false),
            (serde_json::json!({ "all": [call, { "not": { "has": text } }] }), false),
            (serde_json::json!({ "all": [call, { "inside": text }] }), false),
            (serde_json::json!({ "any": [] }), false),
        ] {
            assert_eq!(needs_text(&rule), needs, "{rule}");
        }
    }

    #[test]
    fn a_word_of_several_patterns_has_the_sites_of_all() {
        let rule = |patterns: &[&str]| {
            let any: Vec<Value> =
                patterns.iter().map(|pattern| serde_json::json!({ "pattern": pattern })).collect();
            rule_words(&serde_json::json!({ "any": any })).unwrap().remove("load").unwrap()
        };
        let both = ["pickle".to_owned(), "yaml".to_owned()].into();
        let both = Sites { after: both, ..Sites::default() };
        assert_eq!(rule(&["pickle.load", "yaml.load"]), both);
        assert!(rule(&["pickle.load", "$X.load"]).anywhere);
        assert!(rule(&["$X.load", "pickle.load"]).anywhere);
    }
}
