//! Shell scripts: taken apart into commands, which the rules for commands judge.

use cofferdam_core::check::Level;
use cofferdam_core::command::{BUILT_IN, Verdict};

use super::own;
use super::sink::Sink;
use crate::shell;

/// Looks at a script through the rules for commands.
pub(super) fn check(text: &str, sink: &mut Sink<'_>) {
    let line = shell::line(text);
    for problem in &line.problems {
        sink.own_with(
            &own::SYNTAX,
            &format!("It is not understood here: {}.", problem.message),
            problem.range.clone(),
        );
    }
    for command in &line.commands {
        for rule in BUILT_IN.iter().filter(|rule| (rule.speaks_of)(command)) {
            let level = match rule.verdict {
                Verdict::Deny => Level::Deny,
                Verdict::Review => Level::Warn,
                Verdict::Allow => Level::Off,
            };
            let message = match command.via.is_empty() {
                true => "A rule for commands speaks of it.".to_owned(),
                false => format!(
                    "A rule for commands speaks of what it starts by {}.",
                    command.via.join(", ")
                ),
            };
            sink.named(rule.id, level, &message, rule.reason, command.range.clone());
        }
    }
}
