//! Findings that no pattern can have: about a file as a whole.

use cofferdam_core::check::Level;

/// A rule that is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnRule {
    pub id: &'static str,
    pub level: Level,
    pub message: &'static str,
    pub reason: &'static str,
}

pub(super) const TOO_LARGE: OwnRule = OwnRule {
    id: "source/too-large",
    level: Level::Deny,
    message: "The file is larger than what is checked.",
    reason: "Nothing is known of it.",
};
pub(super) const TOO_DEEP: OwnRule = OwnRule {
    id: "source/too-deep",
    level: Level::Deny,
    message: "The code nests deeper than what is checked.",
    reason: "Nothing is known of it. Interpreters refuse such code too.",
};
pub(super) const TOO_HARD: OwnRule = OwnRule {
    id: "source/too-hard",
    level: Level::Deny,
    message: "Checking it would take more steps than its length allows.",
    reason: "Only part of it was looked at.",
};
pub(super) const SYNTAX: OwnRule = OwnRule {
    id: "source/syntax",
    level: Level::Deny,
    message: "It is not understood here.",
    reason: "What cannot be parsed cannot be vouched for.",
};
pub(super) const ENCODING: OwnRule = OwnRule {
    id: "source/encoding",
    level: Level::Deny,
    message: "The bytes are not UTF-8, or a comment says that they mean something else.",
    reason: "The interpreter may read other code than what was looked at.",
};
pub(super) const INVISIBLE: OwnRule = OwnRule {
    id: "source/invisible",
    level: Level::Deny,
    message: "A character changes the order in which text is shown.",
    reason: "People would read other code than the interpreter.",
};
pub(super) const LOOKALIKE: OwnRule = OwnRule {
    id: "source/lookalike",
    level: Level::Deny,
    message: "A name is written with letters that look like others.",
    reason: "People would read another name than the interpreter.",
};
pub(super) const IMPORT: OwnRule = OwnRule {
    id: "python/import-not-listed",
    level: Level::Off,
    message: "The module is not one that a strategy may import.",
    reason: "A strategy computes: modules that reach out of the program are not on its list.",
};
/// All of them, for listings.
pub const ALL: &[OwnRule] =
    &[TOO_LARGE, TOO_DEEP, TOO_HARD, SYNTAX, ENCODING, INVISIBLE, LOOKALIKE, IMPORT];
