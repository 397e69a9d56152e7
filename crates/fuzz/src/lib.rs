//! What is done with any bytes at all: everything that reads what somebody else wrote, as one function a format.
//!
//! - [`TARGETS`]: the one list. A target takes bytes and panics where something does not hold: first of all that
//!   nothing panics, then what is said at each of them.
//!
//! Two use it: `fuzz/`, where libFuzzer makes the bytes up (`cargo xtask fuzz`), and the test of this crate, which gives
//! each target the inputs that are kept in `fuzz/corpus`. Nothing of it is in what users get.

#[cfg(feature = "sandbox")]
mod check;
#[cfg(feature = "sandbox")]
mod command;
mod config;
mod dockerfile;
#[cfg(feature = "server")]
mod http;
mod image;
mod inert;
#[cfg(feature = "sandbox")]
mod journal;
mod manifest;
#[cfg(feature = "sandbox")]
mod overlay;

#[cfg(feature = "sandbox")]
pub use check::check;
#[cfg(feature = "sandbox")]
pub use command::{policy, shell};
pub use config::config;
pub use dockerfile::dockerfile;
#[cfg(feature = "server")]
pub use http::http;
pub use image::image;
pub use inert::inert;
#[cfg(feature = "sandbox")]
pub use journal::journal;
pub use manifest::manifest;
#[cfg(feature = "sandbox")]
pub use overlay::overlay;

/// A target by the name that its file in `fuzz/fuzz_targets` and its directory in `fuzz/corpus` have.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[
    #[cfg(feature = "sandbox")]
    ("check", check),
    ("config", config),
    ("dockerfile", dockerfile),
    #[cfg(feature = "server")]
    ("http", http),
    ("image", image),
    ("inert", inert),
    #[cfg(feature = "sandbox")]
    ("journal", journal),
    ("manifest", manifest),
    #[cfg(feature = "sandbox")]
    ("overlay", overlay),
    #[cfg(feature = "sandbox")]
    ("policy", policy),
    #[cfg(feature = "sandbox")]
    ("shell", shell),
];

/// For formats that are text: what is none is refused before anybody looks at it.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
