//! Names of what the control plane keeps. Each kind has a type of its own, so that a task's id is never taken for a
//! project's; all look alike: 26 characters that sort by time, see [`RunId`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::{NotARunId, RunId};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
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
            type Err = NotARunId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )+};
}

ids! {
    ProjectId,
    RoleId,
    TaskId,
    TemplateId,
    WorkflowRunId,
    ApprovalId,
    RunnerId,
    TokenId,
    ArtifactId,
}
