//! Names of images.

use cofferdam_core::image::ImageRef;

/// What is accepted is written back as something that is accepted and means the same, and never begins like a flag.
pub fn image(input: &[u8]) {
    let Some(text) = crate::text(input) else { return };
    if let Ok(image) = text.parse::<ImageRef>() {
        let written = image.to_string();
        assert!(!written.starts_with('-') && !written.contains(char::is_whitespace), "{written:?}");
        assert_eq!(written.parse::<ImageRef>().as_ref(), Ok(&image));
    }
}
