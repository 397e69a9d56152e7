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

/// Where tools keep their things below the home directory, and the variable by which somebody has them keep these elsewhere.
const HOMES: [(&str, &str); 8] = [
    (".cargo", "CARGO_HOME"),
    (".rustup", "RUSTUP_HOME"),
    (".pyenv", "PYENV_ROOT"),
    (".rbenv", "RBENV_ROOT"),
    (".nvm", "NVM_DIR"),
    (".volta", "VOLTA_HOME"),
    (".asdf", "ASDF_DATA_DIR"),
    (".local/share/mise", "MISE_DATA_DIR"),
];

/// Where the user's tools keep their things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes {
    home: PathBuf,
    /// What [`HOMES`] has a variable for, by its usual place.
    moved: Vec<(&'static str, PathBuf)>,
}

impl Homes {
    /// `variable` is asked for what the host has under a name.
    pub fn new(home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let moved = HOMES.iter().filter_map(|(usual, name)| Some((*usual, variable(name)?)));
        let moved = moved.filter(|(_, place)| place.is_absolute()).collect();
        Self { home: home.to_owned(), moved }
    }

    /// Where `usual`, a path from the home directory, really is.
    fn place(&self, usual: &str) -> PathBuf {
        let moved = self.moved.iter().find_map(|(before, place)| {
            let below = Path::new(usual).strip_prefix(before).ok()?;
            Some(place.join(below))
        });
        moved.unwrap_or_else(|| self.home.join(usual))
    }
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
pub fn toolchains(search_path: &str, homes: &Homes, forbidden: &Forbidden) -> Vec<Toolchain> {
    let layouts: Vec<_> =
        LAYOUTS.iter().map(|layout| (homes.place(layout.on_path), layout)).collect();
    let (mut found, mut looked_at): (Vec<Toolchain>, Vec<Vec<PathBuf>>) = Default::default();
    for dir in search_path.split(':').map(Path::new).filter(|dir| dir.is_absolute()) {
        let Some((paths, env)) = parts(dir, homes, &layouts) else { continue };
        if looked_at.contains(&paths) {
            continue;
        }
        let may_be_shown = |path: &HostPath| {
            path.kind == HostKind::Directory
                && path.names().iter().all(|name| forbidden.reason(name).is_none())
        };
        // The system's tree is shown whole.
        let to_show = paths.iter().filter(|path| !in_system_tree(path));
        let there = to_show.filter_map(|path| look_up(path).ok());
        let toolchain = Toolchain { paths: there.filter(may_be_shown).collect(), env };
        looked_at.push(paths);
        let is_of_use = !toolchain.paths.is_empty() || in_system_tree(dir);
        if is_of_use && !found.contains(&toolchain) {
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

/// What belongs to a directory on the search path. None where that is nothing, or nothing beside the system's own tree.
fn parts(dir: &Path, homes: &Homes, layouts: &[(PathBuf, &Layout)]) -> Option<Parts> {
    if let Some((_, layout)) = layouts.iter().find(|(place, _)| dir.starts_with(place)) {
        let shown = layout.shown.iter().map(|path| homes.place(path));
        let env = layout.env.iter().map(|(name, path)| (*name, homes.place(path)));
        return Some((shown.collect(), env.collect()));
    }
    if in_system_tree(dir) || dir == homes.home {
        return None;
    }
    let shown = if dir.starts_with(&homes.home) { dir.to_owned() } else { elsewhere(dir) };
    Some((vec![shown], Vec::new()))
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
        let found = toolchains(&path, &Homes::new(&home, |_| None), &forbidden);
        let shown: Vec<PathBuf> =
            found.iter().flat_map(|t| t.paths.iter().map(|p| p.asked.0.clone())).collect();
        assert_eq!(shown, [home.join(".cargo/bin"), home.join(".rustup"), home.join("tools")]);
        assert_eq!(found[0].env, [("RUSTUP_HOME", home.join(".rustup"))]);
    }

    #[test]
    fn tools_that_were_told_to_live_elsewhere_are_found_there() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let home = top.join("ada");
        for path in ["tools/cargo/bin", "tools/rust", "tools/python/shims", "ada/.cargo/bin"] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        let places = Places { homes: vec![home.clone()], state: vec![], config: vec![] };
        let forbidden = Forbidden::new(&places);
        let moved = |name: &str| match name {
            "CARGO_HOME" => Some(top.join("tools/cargo")),
            "RUSTUP_HOME" => Some(top.join("tools/rust")),
            "PYENV_ROOT" => Some(top.join("tools/python")),
            // Not a place that could be shown.
            "NVM_DIR" => Some(PathBuf::from("nvm")),
            _ => None,
        };
        let t = top.join("tools");
        let path = format!("{0}/cargo/bin:{0}/python/shims", t.display());
        let found = toolchains(&path, &Homes::new(&home, moved), &forbidden);
        let shown = |t: &Toolchain| -> Vec<PathBuf> {
            t.paths.iter().map(|path| path.asked.0.clone()).collect()
        };
        assert_eq!(shown(&found[0]), [t.join("cargo/bin"), t.join("rust")]);
        assert_eq!(found[0].env, [("RUSTUP_HOME", t.join("rust"))]);
        assert_eq!(shown(&found[1]), [t.join("python")]);
        assert_eq!(found[1].env, [("PYENV_ROOT", t.join("python"))]);
        // In the system's tree there is nothing to show, and still something to say.
        let system = |name: &str| match name {
            "CARGO_HOME" => Some(PathBuf::from("/usr/local/cargo")),
            "RUSTUP_HOME" => Some(PathBuf::from("/usr/local/rustup")),
            _ => None,
        };
        let found =
            toolchains("/usr/local/cargo/bin:/usr/bin", &Homes::new(&home, system), &forbidden);
        assert_eq!(found.len(), 1);
        assert!(found[0].paths.is_empty());
        assert_eq!(found[0].env, [("RUSTUP_HOME", PathBuf::from("/usr/local/rustup"))]);
        // And a home is not shown because a variable says that tools live there.
        let all = |name: &str| (name == "PYENV_ROOT").then(|| home.clone());
        let path = home.join(".cargo/bin");
        let found = toolchains(path.to_str().unwrap(), &Homes::new(&home, all), &forbidden);
        assert!(found.iter().all(|t| shown(t).iter().all(|path| *path != home)));
    }
}
