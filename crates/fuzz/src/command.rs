//! Command lines: taken apart, and judged.

use cofferdam_core::command::{CommandPolicy, Line, Verdict};
use cofferdam_sandbox::shell::line;

/// What was found in a line stands in it, and a line in which nothing was found says why.
pub fn shell(input: &[u8]) {
    let Some(text) = crate::text(input) else { return };
    let found: Line = line(text);
    assert_eq!(found, line(text));
    let ranges = found.commands.iter().map(|command| &command.range);
    for range in ranges.chain(found.problems.iter().map(|problem| &problem.range)) {
        assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
    }
    for command in &found.commands {
        assert!(!command.text().is_empty(), "{command:?} of {text:?}");
    }
}

/// A line is never judged milder than its strictest part, nor milder by more rules.
pub fn policy(input: &[u8]) {
    let Some(text) = crate::text(input) else { return };
    let line = line(text);
    let lax = CommandPolicy::default();
    let strict = CommandPolicy { builtin: true, default: Verdict::Review, ..lax.clone() };
    let decision = strict.judge(&line);
    assert_eq!(decision, strict.judge(&line));
    assert!(decision.parts.iter().all(|part| part.verdict <= decision.verdict), "{decision:?}");
    assert!(decision.rules.iter().all(|hit| hit.verdict <= decision.verdict), "{decision:?}");
    let builtin = CommandPolicy { builtin: true, ..lax.clone() }.judge(&line);
    let milder = lax.judge(&line);
    assert!(milder.verdict <= builtin.verdict && builtin.verdict <= decision.verdict, "{text:?}");
}
