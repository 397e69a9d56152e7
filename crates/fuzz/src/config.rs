//! Settings files.

use cofferdam_core::config::{FileLayer, parse_file};

/// As a file of either kind: no panic, and the same answer twice.
pub fn config(input: &[u8]) {
    let Some(text) = crate::text(input) else { return };
    for layer in [FileLayer::Host, FileLayer::Project] {
        let first = format!("{:?}", parse_file(text, "x.yaml", layer));
        assert_eq!(first, format!("{:?}", parse_file(text, "x.yaml", layer)));
    }
}
