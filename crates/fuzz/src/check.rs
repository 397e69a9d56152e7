//! The validator.

use std::sync::OnceLock;

use cofferdam_core::check::{Levels, Profile};
use cofferdam_sandbox::check::{InlineAllow, Lang, Source, Validator};

/// The first byte chooses the language: no panic, no overflow, and the same findings twice.
pub fn check(input: &[u8]) {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        Validator::new(Levels::of_profile(Profile::Strategy), InlineAllow::Honoured)
    });
    let Some((choice, bytes)) = input.split_first() else { return };
    let lang = Lang::ALL[usize::from(*choice) % Lang::ALL.len()];
    let look =
        || validator.check(Source { name: "x", lang, bytes }).expect("the built-in rules load");
    assert_eq!(look(), look());
}
