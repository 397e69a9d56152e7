//! Relative paths and `~` in settings, made absolute. Lexical: nothing is looked up.

use std::path::{Path, PathBuf};

use super::entries::Entries;
use super::key::Key;
use super::resolve::Resolved;
use super::step::Step;
use super::value::Value;
use crate::paths::{ExactPath, clean_absolute};
use crate::spec::Seccomp;

/// Where paths start. All three are absolute.
#[derive(Debug, Clone)]
pub struct Anchor<'a> {
    /// The directory of the file, or the caller's for variables and flags.
    pub base: &'a Path,
    pub home: &'a Path,
    pub workspace: &'a Path,
}

impl Anchor<'_> {
    /// Makes every path absolute: `~` is the home directory, anything relative starts at `base`, and
    /// `policy.root` at the workspace, since it stands in a host file that serves many.
    pub fn entries(&self, entries: &mut Entries) {
        for (key, value) in entries.values_mut() {
            self.value(key, value);
        }
    }

    /// The same for what is resolved: the default root is the workspace.
    pub fn resolved(&self, resolved: &mut Resolved) {
        for (key, value) in resolved.values_mut() {
            self.value(key, value);
        }
    }

    /// Has the sources of mounts start at the root of a task's project, which need not be where the task works.
    pub fn mounts_in(root: &Path, entries: &mut Entries) {
        for (_, value) in entries.values_mut() {
            if let Value::Mounts(mounts) = value {
                mounts.iter_mut().for_each(|mount| mount.source.0 = mount.source_in(root));
            }
        }
    }

    fn value(&self, key: Key, value: &mut Value) {
        let base = if key == Key::PolicyRoot { self.workspace } else { self.base };
        let exact = |path: &mut ExactPath| path.0 = self.path(base, &path.0);
        match value {
            Value::Path(path) | Value::Seccomp(Seccomp::File(path)) => exact(path),
            Value::Paths(paths) => paths.iter_mut().for_each(exact),
            Value::Mounts(mounts) => mounts.iter_mut().for_each(|m| exact(&mut m.source)),
            Value::Exceptions(exceptions) => {
                exceptions.iter_mut().for_each(|e| e.path = self.path(base, &e.path));
            }
            Value::Roles(roles) => {
                for role in roles.values_mut() {
                    role.allowed_paths.iter_mut().flatten().for_each(exact);
                }
            }
            Value::Steps(steps) => {
                let all = steps.values_mut().flat_map(Step::values_mut);
                all.for_each(|(key, value)| self.value(key, value));
            }
            _ => {}
        }
    }

    fn path(&self, base: &Path, path: &Path) -> PathBuf {
        let whole = match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => base.join(path),
        };
        // A path that climbs above the root ends at the root, and the mount check refuses that.
        clean_absolute(&whole).unwrap_or_else(|| PathBuf::from("/"))
    }
}
