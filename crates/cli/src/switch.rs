//! A flag that a variable can set as well, in the words that people have for yes and no.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

/// Reads the variable. The flag itself takes no value, so that a wrong one is always the variable's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch;

impl TypedValueParser for Switch {
    type Value = bool;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<bool, Error> {
        match value.to_ascii_lowercase().to_str() {
            Some("1" | "true" | "yes" | "on") => Ok(true),
            // An empty variable is as good as none.
            Some("" | "0" | "false" | "no" | "off") => Ok(false),
            _ => {
                let name = arg.and_then(Arg::get_env).unwrap_or_default().display();
                let value = value.display();
                let message =
                    format!("{name} is '{value}': set it to 1 or 0, true or false, yes or no\n");
                Err(Error::raw(ErrorKind::InvalidValue, message).with_cmd(command))
            }
        }
    }
}
