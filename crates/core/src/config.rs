//! Settings in layers, each value with its origin, merged so that the strictest wins.
//!
//! [`Key`] is the one table: parsing, suggestions, merging, `config show`, the JSON schema and the
//! reference page all read it. A file becomes [`Entries`] by [`parse_file`], variables and flags by
//! [`Entries::set_text`]; [`resolve()`] joins them into [`Resolved`], and [`Settings`] are its typed
//! form.
//!
//! Who may loosen what: the host file anything; the project file only defaults, and only where it is
//! trusted; variables and flags defaults and project values, never what the host file set.
//!
//! Deliberately absent: reading files and variables, and the trust store. The command line does that.

mod anchor;
mod entries;
pub(crate) mod error;
mod file;
mod form;
mod key;
mod reference;
mod resolve;
mod schema;
mod settings;
mod step;
mod strict;
mod structured;
mod suggest;
mod text;
mod value;
pub(crate) mod yaml;

pub use anchor::Anchor;
pub use entries::{Entries, FileLayer, Layer, Origin};
pub use error::ConfigError;
pub use file::{MAX_FILE_BYTES, parse_file};
pub use key::{Key, Scope};
pub use reference::reference;
pub use resolve::{Layers, Resolved, Trust, Warning, resolve};
pub use schema::schema;
pub use settings::{
    Budget, ChangeSettings, CheckSettings, ImageSettings, McpSettings, PolicySettings,
    RoleSettings, SandboxSettings, Settings,
};
pub use step::{Step, StepCommand};
pub use suggest::nearest;
pub use value::Value;

pub use crate::policy::Exception;

#[cfg(test)]
mod tests;
