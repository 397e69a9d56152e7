//! The audit log.

use cofferdam_core::chain::Verifier;

/// What is accepted is a chain, so nothing but what was linked is.
pub fn journal(input: &[u8]) {
    let Some(text) = crate::text(input) else { return };
    let mut verifier = Verifier::new(Vec::new());
    let held = text.lines().take_while(|line| verifier.feed(line).is_ok()).count();
    if held == text.lines().count() {
        // The empty log holds, and a line that holds carries the hash of all before it.
        verifier.finish().expect("a log whose lines all hold");
    }
}
