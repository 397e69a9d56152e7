//! Sealed manifests.

use cofferdam_core::changes::manifest::ManifestReader;

/// Read to its end or refused, without a panic and without memory that the bytes do not account for. A path that comes
/// out stays inside, and paths come in their order.
pub fn manifest(input: &[u8]) {
    let Ok(reader) = ManifestReader::begin(input) else { return };
    let mut last = None;
    for entry in reader {
        let Ok(entry) = entry else { return };
        let path = entry.path.as_bytes();
        assert!(!path.starts_with(b"/") && !path.split(|b| *b == b'/').any(|part| part == b".."));
        assert!(last.as_ref() < Some(&entry.path), "{last:?} before {}", entry.path);
        last = Some(entry.path);
    }
}
