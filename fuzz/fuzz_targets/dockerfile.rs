//! Any text as a Dockerfile: no panic, the same twice.

#![no_main]

use cofferdam_core::dockerfile::Dockerfile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let first = format!("{:?}", Dockerfile::parse(text));
    assert_eq!(first, format!("{:?}", Dockerfile::parse(text)));
});
