//! `image: host`: an image with next to nothing in it, made once, over which the host's own programs are
//! laid read-only. So an engine needs no registry, and the user's toolchain is there.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, fchown, symlink};
use std::path::{Path, PathBuf};

use cofferdam_core::plan::Plan;
use cofferdam_core::spec::Network;
use cofferdam_native::first::{SKELETON, VARIABLES};
use cofferdam_native::line::Line;
use cofferdam_native::outside::{
    Tree, User, can_show, etc_files, etc_shown, git_files, system_trees,
};
use serde_json::Value;

use super::Trouble;
use super::request::has_secrets;
use crate::engine::{Engine, Flavor, Patience, at};
use crate::state::private_file;
use crate::tar::Tar;

/// Name of the image, before a hash of what is in it. Not a tag: Podman loses that of an import.
const NAME: &str = "cofferdam-host";
/// The made-up `/etc`, in the run's directory.
pub(super) const ETC: &str = "etc";
/// Variables for the program alone, in the run's directory until the container has them.
pub(super) const SECRETS: &str = "variables";
/// What a home begins with, in the run's directory.
pub(super) const HOME_FILES: &str = "home";
/// Where this program is seen by the container of which it is the first process.
pub(super) const FIRST: &str = "/run/cofferdam/first";
/// A larger file is bound instead of copied.
const COPIED: u64 = 256 << 10;

/// An image that an engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) id: String,
    /// By which registries know it, where it came from one.
    pub(super) digests: Vec<String>,
}

/// The image, which is made where it is missing.
pub(super) fn image(engine: &Engine) -> Result<Image, Trouble> {
    let tar = skeleton(&system_trees()?, engine.flavor)?;
    let name = format!("{NAME}-{}", &blake3::hash(&tar).to_hex()[..16]);
    if let Some(image) = named(engine, &name)? {
        return Ok(image);
    }
    let label = crate::engine::encoded("LABEL cofferdam.image=host");
    let target = format!("/images/create?fromSrc=-&repo={name}&tag=latest&changes={label}");
    let said = engine.send_tar(&target, &tar)?;
    named(engine, &name)?.ok_or_else(|| Trouble::NoImage {
        name,
        said: String::from_utf8_lossy(&said.body).trim().to_owned(),
    })
}

/// What a name stands for, now.
pub(super) fn named(engine: &Engine, name: &str) -> Result<Option<Image>, Trouble> {
    match engine.get::<Value>(&format!("/images/{name}/json"), Patience::Short) {
        Ok(found) => {
            let digests = at(&found, &["RepoDigests"]).as_array().into_iter().flatten();
            let digests = digests.filter_map(|one| one.as_str().map(str::to_owned)).collect();
            let id = at(&found, &["Id"]).as_str().map(str::to_owned);
            Ok(id.map(|id| Image { id, digests }))
        }
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Directories to mount on, and links as the host has them. The same host gives the same bytes. None for the
/// workspace: Podman gives a volume to whoever owns its place in the image, and without one to the program's user.
fn skeleton(trees: &[Tree], flavor: Flavor) -> Result<Vec<u8>, Trouble> {
    let mut tar = Tar::default();
    for dir in
        ["dev", "etc", "home", "home/sandbox", "proc", "run", "run/cofferdam", "sys", "tmp", "var"]
    {
        // Runtimes give a memory file system the mode of what it covers.
        tar.directory(dir, if matches!(dir, "tmp" | "home/sandbox") { 0o1777 } else { 0o755 });
    }
    match flavor {
        Flavor::Docker => tar.link("var/tmp", "/tmp"),
        // It mounts memory there, which through a link would lie over `/tmp`.
        Flavor::Podman => tar.directory("var/tmp", 0o1777),
    }
    for tree in trees {
        match tree {
            Tree::Directory { path } => tar.directory(&top(path)?, 0o755),
            Tree::Link { path, target } => {
                let target = target.to_str().ok_or_else(|| odd(path))?;
                tar.link(&top(path)?, target);
            }
        }
    }
    Ok(tar.finish())
}

fn top(path: &Path) -> Result<String, Trouble> {
    let name = path.strip_prefix("/").ok().and_then(Path::to_str).ok_or_else(|| odd(path))?;
    Ok(name.to_owned())
}

fn odd(path: &Path) -> Trouble {
    let source = io::Error::other("its name is not text");
    Trouble::Io { action: "show", path: path.to_owned(), source }
}

/// Parts of the host to bind, each with its place inside. A made-up `/etc` is written into `dir`.
pub(super) fn shown(
    dir: &Path,
    user: User,
    plan: &Plan,
    flavor: Flavor,
) -> Result<Vec<(PathBuf, PathBuf)>, Trouble> {
    let mut binds = Vec::new();
    for tree in system_trees()? {
        if let Tree::Directory { path } = tree {
            binds.push((path.clone(), path));
        }
    }
    let etc = dir.join(ETC);
    make_dir(&etc)?;
    binds.push((etc.clone(), "/etc".into()));
    for (name, text) in etc_files(user) {
        write(&etc.join(name), text.as_bytes())?;
        // An engine lays files of its own over these, which tell of the host's network. Without one, nobody
        // needs them; with one, they are how names are found.
        let is_told = matches!(name, "hosts" | "hostname" | "resolv.conf");
        let is_alone = matches!(plan.network, Network::None | Network::Allow);
        // Podman makes lists of people of its own, where the image has none.
        let is_replaced = flavor == Flavor::Podman && matches!(name, "passwd" | "group");
        if (is_told && is_alone) || is_replaced {
            binds.push((etc.join(name), Path::new("/etc").join(name)));
        }
    }
    link("/proc/self/mounts".as_ref(), &etc.join("mtab"))?;
    for path in etc_shown()? {
        let Ok(below) = path.strip_prefix("/etc") else { continue };
        show(&path, &etc.join(below), &mut binds)?;
    }
    Ok(binds)
}

/// What our own program needs to be the first process, each with its place inside.
pub(super) fn first(
    dir: &Path,
    user: User,
    program: &Path,
    plan: &Plan,
    placeholders: &[PathBuf],
) -> Result<Vec<(PathBuf, PathBuf)>, Trouble> {
    let home = dir.join(HOME_FILES);
    for (name, text) in git_files(placeholders) {
        let path = home.join(name);
        path.parent().map_or(Ok(()), make_dir)?;
        write(&path, &text)?;
    }
    let mut binds = vec![(program.to_owned(), FIRST.into()), (home, SKELETON.into())];
    if has_secrets(plan) {
        binds.push((secrets(&dir.join(SECRETS), user, plan)?, VARIABLES.into()));
    }
    Ok(binds)
}

/// Where the first process calls us, beside what the home begins with.
pub(super) fn line(dir: &Path) -> Result<Line, Trouble> {
    let home = dir.join(HOME_FILES);
    Line::lay(&home).map_err(|source| Trouble::Io { action: "listen in", path: home, source })
}

/// A file that only the program's user can read. It goes as soon as the container has it.
fn secrets(path: &Path, user: User, plan: &Plan) -> Result<PathBuf, Trouble> {
    let mut text = Vec::new();
    for (name, value) in plan.env.iter().filter(|(_, value)| value.secret().is_some()) {
        text.extend_from_slice(format!("{name}={}\0", value.reveal()).as_bytes());
    }
    let fail = |source| Trouble::Io { action: "write", path: path.to_owned(), source };
    let mut options = private_file();
    let mut file = options.write(true).create_new(true).open(path).map_err(fail)?;
    file.write_all(&text).map_err(fail)?;
    if can_show() {
        fchown(&file, Some(user.uid), Some(user.gid)).map_err(fail)?;
    }
    Ok(path.to_owned())
}

/// A link as the same link, a small file as a copy; anything else is bound over a place of its kind.
fn show(host: &Path, place: &Path, binds: &mut Vec<(PathBuf, PathBuf)>) -> Result<(), Trouble> {
    let look = |e| Trouble::Io { action: "look at", path: host.to_owned(), source: e };
    let meta = fs::symlink_metadata(host).map_err(look)?;
    if let Some(parent) = place.parent() {
        make_dir(parent)?;
    }
    if meta.is_symlink() {
        return link(&fs::read_link(host).map_err(look)?, place);
    }
    if meta.is_file() && meta.len() <= COPIED {
        return write(place, &fs::read(host).map_err(look)?);
    }
    if meta.is_dir() {
        make_dir(place)?;
    } else {
        write(place, b"")?;
    }
    binds.push((host.to_owned(), host.to_owned()));
    Ok(())
}

/// One that everybody inside can enter, whatever the caller's umask is; so are the directories on the way that
/// have to be made.
fn make_dir(path: &Path) -> Result<(), Trouble> {
    if path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), make_dir)?;
    let made = fs::create_dir(path).and_then(|()| fs::set_permissions(path, mode(0o755)));
    made.map_err(|source| Trouble::Io { action: "make", path: path.to_owned(), source })
}

fn mode(bits: u32) -> fs::Permissions {
    fs::Permissions::from_mode(bits)
}

fn link(target: &Path, place: &Path) -> Result<(), Trouble> {
    symlink(target, place).map_err(|source| Trouble::Io {
        action: "make",
        path: place.to_owned(),
        source,
    })
}

/// A file that everybody inside can read, likewise.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    let written = fs::write(path, bytes).and_then(|()| fs::set_permissions(path, mode(0o644)));
    written.map_err(|source| Trouble::Io { action: "write", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: User = User { uid: 1001, gid: 1002 };

    #[test]
    fn the_same_host_gives_the_same_image() {
        let trees = [
            Tree::Directory { path: "/usr".into() },
            Tree::Link { path: "/bin".into(), target: "usr/bin".into() },
        ];
        let of = |trees: &[Tree]| skeleton(trees, Flavor::Docker).unwrap();
        let one = of(&trees);
        assert_eq!(one, of(&trees));
        assert_ne!(one, of(&trees[..1]));
        assert_eq!(one.len() % 512, 0);
    }

    #[test]
    fn a_made_up_etc_is_complete_and_public() {
        let mut plan = crate::backend::docker::tests::plan();
        let dir = tempfile::tempdir().unwrap();
        let binds = shown(dir.path(), USER, &plan, Flavor::Docker).unwrap();
        let passwd = fs::read_to_string(dir.path().join("etc/passwd")).unwrap();
        assert!(passwd.contains("sandbox:x:1001:1002:"));
        assert!(!dir.path().join("etc/shadow").exists());
        for (source, target) in &binds {
            assert!(source.exists(), "{}", source.display());
            assert!(target.is_absolute() && *target != Path::new("/etc/shadow"));
        }
        let tells = |binds: &[(PathBuf, PathBuf)]| {
            !binds.iter().any(|(_, target)| target == Path::new("/etc/resolv.conf"))
        };
        assert!(!tells(&binds));
        let other = tempfile::tempdir().unwrap();
        plan.network = Network::Bridge;
        let binds = shown(other.path(), USER, &plan, Flavor::Docker).unwrap();
        assert!(tells(&binds) && other.path().join("etc/resolv.conf").exists());
    }
}
