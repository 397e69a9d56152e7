//! What the user allows this once: the flags that `gate` and `apply` share.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use cofferdam_core::changes::{Allowances, ChangePath, Class};

use crate::context::quoted;
use crate::failure::Failure;
use crate::sealed::typed_path;

#[derive(Debug, Args)]
pub(crate) struct Allowed {
    /// Allow changes of a handoff class; can be given again.
    #[arg(long = "allow-class", value_name = "CLASS", hide_possible_values = true, value_parser = class())]
    allow_classes: Vec<Class>,
    /// Allow every class of this file, or of all in this directory; can be given again.
    #[arg(long = "allow-path", value_name = "PATH")]
    allow_paths: Vec<OsString>,
    /// Allow more changes than the budgets do.
    #[arg(long = "allow-budget")]
    pub(crate) allow_budget: bool,
}

fn class() -> impl clap::builder::TypedValueParser<Value = Class> {
    PossibleValuesParser::new(Class::NAMES).try_map(|name| name.parse::<Class>())
}

impl Allowed {
    /// The flags as they can be typed again, each after a space.
    pub(crate) fn as_flags(&self) -> String {
        let classes = self.allow_classes.iter().map(|class| format!(" --allow-class {class}"));
        let paths = self.allow_paths.iter().map(|path| format!(" --allow-path {}", quoted(path)));
        let budget = self.allow_budget.then(|| " --allow-budget".to_owned());
        classes.chain(paths).chain(budget).collect()
    }

    /// The flags as values. Paths are seen from `cwd`, or from the workspace where that is elsewhere.
    pub(crate) fn allowances(&self, workspace: &Path, cwd: &Path) -> Result<Allowances, Failure> {
        let paths: Result<_, _> =
            self.allow_paths.iter().map(|word| below(word, workspace, cwd)).collect();
        Ok(Allowances { classes: self.allow_classes.clone(), paths: paths? })
    }
}

fn below(word: &OsStr, workspace: &Path, cwd: &Path) -> Result<ChangePath, Failure> {
    typed_path(word, workspace, cwd)?.ok_or_else(|| {
        Failure::usage("--allow-path cannot be the whole workspace")
            .hint("allow the classes that are meant with --allow-class")
    })
}
