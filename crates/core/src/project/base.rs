//! Which image a part is built on, or taken from.

use crate::image::{ImageRef, NotAnImage};

use super::version::Version;
use super::{Language, Part, System, Tool};

/// The image that has the part's language, pinned to its release line.
pub fn image(part: &Part) -> Result<ImageRef, NotAnImage> {
    let (tag, alpine) = (part.version.tag(), part.system == System::Alpine);
    let name = match part.language {
        Language::Go if alpine => format!("golang:{tag}-alpine"),
        Language::Go => format!("golang:{tag}-{}", suite(part.version, Version::line(1, 19))),
        Language::Node if alpine => format!("node:{tag}-alpine"),
        Language::Node => format!("node:{tag}-bookworm-slim"),
        Language::Python if alpine => format!("python:{tag}-alpine"),
        Language::Python => format!("python:{tag}-slim-bookworm"),
        Language::Rust => format!("rust:{tag}-slim-{}", suite(part.version, Version::line(1, 70))),
        Language::Ruby if alpine => format!("ruby:{tag}-alpine"),
        Language::Ruby => format!("ruby:{tag}-slim-bookworm"),
        Language::Java => match part.tool {
            Tool::Gradle => {
                let gradle = part.tool_version.unwrap_or(Version::line(8, 14)).tag();
                format!("gradle:{gradle}-jdk{tag}")
            }
            _ => format!("maven:3.9-eclipse-temurin-{tag}"),
        },
    };
    name.parse()
}

/// The release of Debian that an image of this age is made of.
fn suite(version: Version, first_on_bookworm: Version) -> &'static str {
    if version.pinned() >= first_on_bookworm { "bookworm" } else { "bullseye" }
}

/// What of the image makes the language work in another one.
pub(super) fn moved(language: Language, tool: Tool) -> &'static [&'static str] {
    match (language, tool) {
        (Language::Go, _) => &["/usr/local/go"],
        (Language::Rust, _) => &["/usr/local/rustup", "/usr/local/cargo/bin"],
        (Language::Node, _) => &["/usr/local/bin/node", "/usr/local/lib/node_modules"],
        (Language::Java, Tool::Gradle) => &["/opt/java/openjdk", "/opt/gradle"],
        (Language::Java, _) => &["/opt/java/openjdk", "/usr/share/maven"],
        (Language::Ruby | Language::Python, _) => &["/usr/local"],
    }
}
