//! Names of what the control plane keeps. Each kind has a type of its own, so that a task's id is never taken for a
//! project's; all look alike: 26 characters that sort by time, see [`RunId`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::RunId;

/// A text that is no id of that kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the id of {kind}, which has all of its 26 characters: {text:?}")]
pub struct NotAnId {
    kind: &'static str,
    text: String,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident is $kind:literal),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String, pattern = "^[0-7][0-9a-hjkmnp-tv-z]{25}$")]
        pub struct $name(RunId);

        impl $name {
            pub fn from_parts(unix_millis: u64, random: u128) -> Self {
                Self(RunId::from_parts(unix_millis, random))
            }

            pub fn unix_millis(self) -> u64 {
                self.0.unix_millis()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let wrong = |_| NotAnId { kind: $kind, text: text.to_owned() };
                text.parse().map(Self).map_err(wrong)
            }
        }
    )+};
}

ids! {
    ProjectId is "a project",
    RoleId is "a role",
    TaskId is "a task",
    TemplateId is "a template",
    WorkflowRunId is "a workflow run",
    ApprovalId is "an approval",
    RunnerId is "a runner",
    TokenId is "a token",
    ArtifactId is "an artifact",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_id_is_said_to_be_none_of_that_kind() {
        let said = |error: NotAnId| error.to_string();
        let task = "4k2m9x7q".parse::<TaskId>().map_err(said).unwrap_err();
        assert!(task.starts_with("not the id of a task"), "{task}");
        let token = "4k2m9x7q".parse::<TokenId>().map_err(said).unwrap_err();
        assert!(token.starts_with("not the id of a token"), "{token}");
    }
}
