//! Finds the toolchains that the user's `PATH` leads to outside the system tree.
//!
//! A sandbox has no home directory of the user's, but cargo, node or python often live there. Each
//! directory on `PATH` stands for a toolchain; the table says what belongs to it besides.

use std::path::{Path, PathBuf};

use cofferdam_core::mount::{HostKind, HostPath};
use cofferdam_core::policy::Forbidden;

use super::look_up;

/// What the program gets to see of one toolchain, read-only and at the same path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    pub paths: Vec<HostPath>,
    /// Variables without which its programs do not find themselves.
    pub env: Vec<(&'static str, PathBuf)>,
}

/// A known layout below the home directory.
struct Layout {
    /// The directory on `PATH`, or one above it.
    on_path: &'static str,
    shown: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

/// Never a whole dot-directory that also holds credentials: `.cargo/bin`, not `.cargo`.
const LAYOUTS: &[Layout] = &[
    Layout {
        on_path: ".cargo/bin",
        shown: &[".cargo/bin", ".rustup"],
        env: &[("RUSTUP_HOME", ".rustup")],
    },
    Layout { on_path: ".pyenv", shown: &[".pyenv"], env: &[("PYENV_ROOT", ".pyenv")] },
    Layout { on_path: ".rbenv", shown: &[".rbenv"], env: &[("RBENV_ROOT", ".rbenv")] },
    Layout { on_path: ".nvm/versions", shown: &[".nvm/versions"], env: &[] },
    Layout { on_path: ".volta", shown: &[".volta"], env: &[("VOLTA_HOME", ".volta")] },
    Layout { on_path: ".asdf", shown: &[".asdf"], env: &[("ASDF_DATA_DIR", ".asdf")] },
    Layout {
        on_path: ".local/share/mise",
        shown: &[".local/share/mise"],
        env: &[("MISE_DATA_DIR", ".local/share/mise")],
    },
    Layout { on_path: ".bun/bin", shown: &[".bun/bin"], env: &[] },
    Layout { on_path: ".deno/bin", shown: &[".deno/bin"], env: &[] },
    Layout { on_path: "go/bin", shown: &["go/bin"], env: &[] },
];

/// The toolchains on `search_path`, each once. What may not be shown is left out: then its programs
/// are simply not found.
pub fn toolchains(search_path: &str, home: &Path, forbidden: &Forbidden) -> Vec<Toolchain> {
    let (mut found, mut looked_at): (Vec<Toolchain>, Vec<Vec<PathBuf>>) = Default::default();
    for dir in search_path.split(':').map(Path::new).filter(|dir| dir.is_absolute()) {
        if in_system_tree(dir) {
            continue;
        }
        let toolchain = match dir.strip_prefix(home) {
            Ok(below) => in_home(below, home),
            Err(_) => Some((vec![elsewhere(dir)], Vec::new())),
        };
        let Some((paths, env)) = toolchain else { continue };
        if looked_at.contains(&paths) {
            continue;
        }
        let may_be_shown = |path: &HostPath| {
            path.kind == HostKind::Directory
                && path.names().iter().all(|name| forbidden.reason(name).is_none())
        };
        let there = paths.iter().filter_map(|path| look_up(path).ok());
        let toolchain = Toolchain { paths: there.filter(may_be_shown).collect(), env };
        looked_at.push(paths);
        if !toolchain.paths.is_empty() && !found.contains(&toolchain) {
            found.push(toolchain);
        }
    }
    without_nested(found)
}

/// What lies in something that is shown whole is shown with it.
fn without_nested(found: Vec<Toolchain>) -> Vec<Toolchain> {
    let all: Vec<PathBuf> =
        found.iter().flat_map(|t| t.paths.iter().map(|path| path.asked.0.clone())).collect();
    let is_outermost = |path: &HostPath| {
        !all.iter().any(|other| path.asked.0 != *other && path.asked.starts_with(other))
    };
    let keep = |toolchain: Toolchain| Toolchain {
        paths: toolchain.paths.into_iter().filter(is_outermost).collect(),
        ..toolchain
    };
    found.into_iter().map(keep).collect()
}

type Parts = (Vec<PathBuf>, Vec<(&'static str, PathBuf)>);

fn in_home(below: &Path, home: &Path) -> Option<Parts> {
    if below.as_os_str().is_empty() {
        return None;
    }
    match LAYOUTS.iter().find(|layout| below.starts_with(layout.on_path)) {
        Some(layout) => Some((
            layout.shown.iter().map(|path| home.join(path)).collect(),
            layout.env.iter().map(|(name, path)| (*name, home.join(path))).collect(),
        )),
        None => Some((vec![home.join(below)], Vec::new())),
    }
}

/// Outside home. Software in `/opt` is a tree with `bin` in it; elsewhere, as in the home of somebody
/// else, nothing but the directory itself is meant.
fn elsewhere(dir: &Path) -> PathBuf {
    match dir.parent() {
        Some(tree)
            if dir.ends_with("bin") && tree != Path::new("/opt") && dir.starts_with("/opt") =>
        {
            tree.to_owned()
        }
        _ => dir.to_owned(),
    }
}

fn in_system_tree(dir: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64"].iter().any(|tree| dir.starts_with(tree))
}

#[cfg(test)]
mod tests {
    use cofferdam_core::policy::forbidden::Places;

    use super::*;

    #[test]
    fn shows_what_a_toolchain_needs_and_no_credentials() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("ada");
        for path in [".cargo/bin", ".rustup", ".ssh", "tools/bin", ".config/gh/bin"] {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        let forbidden = Forbidden::new(&Places {
            homes: vec![home.clone()],
            state: vec![home.join(".local/state/cofferdam")],
            config: vec![home.join(".config/cofferdam")],
        });
        let h = home.display();
        let path =
            format!("{h}/.cargo/bin:{h}/tools:{h}/.ssh:{h}/.config/gh/bin:{h}:/usr/bin:rel:{h}/no");
        let found = toolchains(&path, &home, &forbidden);
        let shown: Vec<PathBuf> =
            found.iter().flat_map(|t| t.paths.iter().map(|p| p.asked.0.clone())).collect();
        assert_eq!(shown, [home.join(".cargo/bin"), home.join(".rustup"), home.join("tools")]);
        assert_eq!(found[0].env, [("RUSTUP_HOME", home.join(".rustup"))]);
    }
}
