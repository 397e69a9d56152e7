//! Where findings go: those that count are kept, in bounds, and come out in the order of the file.

use std::collections::HashSet;
use std::ops::Range;

use cofferdam_core::check::{FileReport, Finding, Level, Levels, Profile};

use super::own::OwnRule;
use super::rules::RuleFacts;
use super::suppression::Suppressions;

/// What is kept before it is sorted and cut.
const MOST_KEPT: usize = 20_000;
const LONGEST_EXCERPT: usize = 160;

#[derive(Debug)]
pub(super) struct Sink<'l> {
    levels: &'l Levels,
    kept: Vec<Kept>,
    seen: HashSet<(String, usize)>,
    left_out: usize,
}

#[derive(Debug)]
struct Kept {
    rule: String,
    level: Level,
    message: String,
    reason: String,
    range: Range<usize>,
}

impl<'l> Sink<'l> {
    pub(super) fn new(levels: &'l Levels) -> Self {
        Self { levels, kept: Vec::new(), seen: HashSet::new(), left_out: 0 }
    }

    pub(super) const fn profile(&self) -> Profile {
        self.levels.profile
    }

    pub(super) fn rule(&mut self, facts: &RuleFacts, range: Range<usize>) {
        let level = self.levels.level(&facts.id, facts.level);
        self.keep(&facts.id, level, &facts.message, &facts.reason, range);
    }

    pub(super) fn own(&mut self, rule: &OwnRule, range: Range<usize>) {
        self.own_with(rule, rule.message, range);
    }

    /// A rule of the file as a whole, with other words.
    pub(super) fn own_with(&mut self, rule: &OwnRule, message: &str, range: Range<usize>) {
        let level = self.levels.level(rule.id, rule.level);
        self.keep(rule.id, level, message, rule.reason, range);
    }

    /// A rule that a profile turns on.
    pub(super) fn own_as_deny(&mut self, rule: &OwnRule, range: Range<usize>) {
        let level = self.levels.level(rule.id, Level::Deny);
        self.keep(rule.id, level, rule.message, rule.reason, range);
    }

    /// A rule of another table.
    pub(super) fn named(
        &mut self,
        rule: &str,
        own: Level,
        message: &str,
        reason: &str,
        range: Range<usize>,
    ) {
        let level = self.levels.level(rule, own);
        self.keep(rule, level, message, reason, range);
    }

    fn keep(&mut self, rule: &str, level: Level, message: &str, reason: &str, range: Range<usize>) {
        if level == Level::Off {
            return;
        }
        if self.kept.len() >= MOST_KEPT {
            self.left_out += 1;
            return;
        }
        if self.seen.insert((rule.to_owned(), range.start)) {
            let (message, reason) = (message.to_owned(), reason.to_owned());
            self.kept.push(Kept { rule: rule.to_owned(), level, message, reason, range });
        }
    }

    /// The report about `text`, as it was looked at.
    pub(super) fn report(
        mut self,
        file: &str,
        language: &str,
        text: &str,
        suppressions: &Suppressions,
    ) -> FileReport {
        self.kept.sort_by(|a, b| (a.range.start, &a.rule).cmp(&(b.range.start, &b.rule)));
        // Most files have no finding, and need no table.
        let lines = Lines::of(if self.kept.is_empty() { "" } else { text });
        let mut report = FileReport {
            file: file.to_owned(),
            language: language.to_owned(),
            findings: Vec::new(),
            left_out: self.left_out,
            suppressed: 0,
        };
        for kept in self.kept {
            let (line, column) = lines.place(text, kept.range.start);
            if suppressions.silence(line, &kept.rule) {
                report.suppressed += 1;
                continue;
            }
            if report.findings.len() == FileReport::MOST {
                report.left_out += 1;
                continue;
            }
            let (end_line, end_column) = lines.place(text, kept.range.end);
            report.findings.push(Finding {
                rule: kept.rule,
                level: kept.level,
                line,
                column,
                end_line,
                end_column,
                message: kept.message,
                reason: kept.reason,
                excerpt: lines.excerpt(text, line),
            });
        }
        report
    }
}

/// Where lines begin.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self { starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Line and column, from 1, in characters; a column far into a line that has no end is that of its bytes.
    fn place(&self, text: &str, at: usize) -> (usize, usize) {
        let at = at.min(text.len());
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line - 1];
        let before = &text.as_bytes()[start..at];
        let column = match before.len() {
            // Counted anew for each finding, it would take the square of the line's length.
            long if long > 64 * 1024 => long,
            _ => before.iter().filter(|byte| (**byte & 0xc0) != 0x80).count(),
        };
        (line, column + 1)
    }

    fn excerpt(&self, text: &str, line: usize) -> String {
        let start = self.starts[line - 1];
        let end = self.starts.get(line).copied().unwrap_or(text.len());
        let mut excerpt: String =
            text[start..end].trim().chars().take(LONGEST_EXCERPT + 1).collect();
        if excerpt.chars().count() > LONGEST_EXCERPT {
            excerpt.pop();
            excerpt.push('…');
        }
        excerpt
    }
}
