//! Any lines as an audit log: what is accepted is a chain, so nothing but what was linked is.

#![no_main]

use cofferdam_core::chain::Verifier;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut verifier = Verifier::new(Vec::new());
    let held = text.lines().take_while(|line| verifier.feed(line).is_ok()).count();
    if held == text.lines().count() {
        // The empty log holds, and a line that holds carries the hash of all before it.
        verifier.finish().expect("a log whose lines all hold");
    }
});
