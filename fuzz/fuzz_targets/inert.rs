//! Any bytes, shown: nothing in what is shown can act on a terminal, and a line stays one line.

#![no_main]

use cofferdam_core::inert::Inert;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line = Inert::line(bytes).to_string();
    assert!(!line.contains(char::is_control), "{line:?}");
    let block = Inert::block(bytes).to_string();
    assert!(!block.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{block:?}");
});
