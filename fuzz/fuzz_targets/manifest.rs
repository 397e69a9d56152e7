//! Any bytes as a sealed manifest: read to its end or refused, without a panic and without memory that the bytes
//! do not account for; a path that comes out stays inside.

#![no_main]

use cofferdam_core::changes::manifest::ManifestReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = ManifestReader::begin(bytes) else { return };
    for entry in reader {
        let Ok(entry) = entry else { return };
        let path = entry.path.as_bytes();
        assert!(!path.starts_with(b"/") && !path.split(|b| *b == b'/').any(|part| part == b".."));
    }
});
