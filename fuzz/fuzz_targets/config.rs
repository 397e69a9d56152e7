//! Any text as a settings file of either kind: no panic, and the same answer twice.

#![no_main]

use cofferdam_core::config::{FileLayer, parse_file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for layer in [FileLayer::Host, FileLayer::Project] {
        let first = format!("{:?}", parse_file(text, "x.yaml", layer));
        assert_eq!(first, format!("{:?}", parse_file(text, "x.yaml", layer)));
    }
});
