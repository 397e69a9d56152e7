//! Any text as an image's name: what is accepted is written back as something that is accepted and means the same, and
//! never begins like a flag.

#![no_main]

use cofferdam_core::image::ImageRef;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(image) = text.parse::<ImageRef>() {
        let written = image.to_string();
        assert!(!written.starts_with('-') && !written.contains(char::is_whitespace), "{written:?}");
        assert_eq!(written.parse::<ImageRef>().as_ref(), Ok(&image));
    }
});
