//! The instructions that a Dockerfile of ours is made of. There are no others, and their text has one place.

use std::fmt;

use crate::image::ImageRef;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// A paragraph: an empty line, and why the next instruction is there.
    Why(&'static str),
    From(ImageRef),
    Env(Vec<(&'static str, String)>),
    Workdir(String),
    /// Files of the project into a directory.
    Copy {
        files: Vec<String>,
        to: String,
    },
    /// A directory or file of another image.
    CopyFrom {
        image: ImageRef,
        path: &'static str,
    },
    /// One shell line a step, each of which has to succeed.
    Run {
        caches: &'static [&'static str],
        steps: Vec<String>,
    },
    User,
    Shell,
}

/// Who works in the image.
pub const USER: &str = "1000:1000";

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Why(text) => write!(f, "\n# {text}"),
            Self::From(image) => write!(f, "FROM {image}"),
            Self::Env(all) => {
                let all: Vec<_> =
                    all.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "ENV {}", all.join(" \\\n    "))
            }
            Self::Workdir(dir) => write!(f, "WORKDIR {dir}"),
            Self::Copy { files, to } => {
                let mut words: Vec<_> = files.iter().map(|file| format!("\"{file}\"")).collect();
                words.push(format!("\"{to}\""));
                write!(f, "COPY [{}]", words.join(", "))
            }
            Self::CopyFrom { image, path } => write!(f, "COPY --from={image} {path} {path}"),
            Self::Run { caches, steps } => {
                let caches = caches
                    .iter()
                    .map(|dir| format!("--mount=type=cache,target={dir},sharing=locked \\\n    "));
                write!(f, "RUN {}{}", caches.collect::<String>(), steps.join(" && \\\n    "))
            }
            Self::User => write!(f, "USER {USER}"),
            Self::Shell => f.write_str("CMD [\"sh\"]"),
        }
    }
}
