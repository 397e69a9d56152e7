//! Dockerfiles.

use cofferdam_core::dockerfile::{Dockerfile, permit, rules};
use cofferdam_core::spec::Network;

/// Parsed, held against policy and ruled on: no panic, the same twice, and every line that is named is one of the file's.
pub fn dockerfile(input: &[u8]) {
    let Some(text) = crate::text(input) else { return };
    let file = Dockerfile::parse(text);
    assert_eq!(format!("{file:?}"), format!("{:?}", Dockerfile::parse(text)));
    let lines = text.lines().count().max(1);
    for objection in permit::objections(&file, Network::None) {
        assert!((1..=lines).contains(&objection.line), "{objection:?} of {lines}");
    }
    assert_eq!(rules::findings(&file), rules::findings(&file));
    file.bases();
}
