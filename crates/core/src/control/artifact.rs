//! A file that a task left for others: its result, its patch, its report.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ArtifactId, TaskId};
use crate::changes::ChangePath;
use crate::stamp::Stamp;

/// How many one attempt leaves at most.
pub const MOST: usize = 64;
/// Bytes of all artifacts of one attempt.
pub const MOST_BYTES: u64 = 16 << 20;
/// The name of a task's result among its artifacts.
pub const RESULT: &str = crate::result::FILE;

/// Longest name.
const LONGEST: usize = 200;

/// Whether something can be the name of an artifact: a plain path below a workspace, so that it is one below wherever
/// somebody puts it, too.
pub fn is_name(text: &str) -> bool {
    text.len() <= LONGEST && !text.chars().any(char::is_control) && ChangePath::new(text).is_ok()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    pub id: ArtifactId,
    pub task: TaskId,
    pub attempt: u32,
    /// Its path below the workspace.
    pub name: String,
    pub media_type: String,
    pub size: u64,
    /// BLAKE3 of its bytes.
    pub hash: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_below_where_it_is_put() {
        for (text, fine) in [
            ("report.xml", true),
            ("target/debug/a b", true),
            ("", false),
            ("/etc/passwd", false),
            ("../x", false),
            ("a/../../x", false),
            ("./a", false),
            ("a/", false),
            ("a\nb", false),
            ("a\u{0}b", false),
        ] {
            assert_eq!(is_name(text), fine, "{text:?}");
        }
        assert!(!is_name(&"a".repeat(201)));
    }
}
