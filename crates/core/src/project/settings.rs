//! The `cofferdam.yaml` that goes with it.

use std::collections::BTreeMap;

use crate::env::EnvName;

use super::dockerfile;

pub const NAME: &str = "cofferdam.yaml";

/// What it is to say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Another Dockerfile than ours.
    pub dockerfile: Option<String>,
    pub env: BTreeMap<EnvName, String>,
}

pub fn yaml(wanted: &Wanted) -> String {
    let file = wanted.dockerfile.as_deref().unwrap_or(dockerfile::NAME);
    let mut text = format!(
        "# Made by `cofferdam init`. `cofferdam config reference` lists every key.\n\
         images:\n  \
           # What `cofferdam image build` builds. Once built, commands of the container backends run in it.\n  \
           dockerfile: {}\n",
        quoted(file)
    );
    if !wanted.env.is_empty() {
        text.push_str("sandbox:\n  env:\n");
        for (name, value) in &wanted.env {
            text.push_str(&format!("    {name}: {}\n", quoted(value)));
        }
    }
    text
}

/// JSON's strings are YAML's, too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
