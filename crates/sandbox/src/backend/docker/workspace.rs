//! How the workspace comes into a container: mounted by us where we are root, else by the engine.
//!
//! Ours is the native sandbox's own, with owners swapped and blocked paths hidden. Of the engine's, a volume
//! that is an overlay, the upper directory is in the run's directory all the same, and blocked paths are
//! covered by binds.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use cofferdam_core::plan::Plan;
use cofferdam_core::repository::Repository;
use cofferdam_core::spec::Mode;
use cofferdam_native::outside::{self, Blocked};
use cofferdam_native::{COPY, GIT_COPY, GIT_UPPER, GIT_WORK, PLACEHOLDERS, UPPER, WORK};
use serde_json::Value;

use super::create::VolumeRequest;
use super::mountinfo::Layered;
use super::request::Workspace;
use super::{Trouble, clean, far};
use crate::engine::{Engine, Patience, Rights, Sight};

/// What stands ready for the container.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) workspace: Workspace,
    pub(super) repository: Option<Workspace>,
    pub(super) covers: Vec<(PathBuf, PathBuf)>,
    pub(super) hidden: Vec<PathBuf>,
    /// Of these, what was made by us.
    pub(super) placeholders: Vec<PathBuf>,
    pub(super) unprotected: Vec<PathBuf>,
    /// What the kernel has to show of the overlays that an engine mounts.
    pub(super) layered: Vec<Layered>,
}

/// Names in the run's directory: what covers lie over blocked paths, and where the workspace is.
pub(super) const COVERS: &str = "covers";
pub(super) const LOWER: &str = "lower";
pub(super) const GIT_LOWER: &str = "git-lower";

/// Where the run keeps what it needs, and how its volumes are marked.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) run: &'a str,
    pub(super) dir: &'a Path,
    pub(super) mounts: &'a Path,
    pub(super) labels: &'a BTreeMap<String, String>,
}

pub(super) fn ready(plan: &Plan, place: &Place<'_>, engine: &Engine) -> Result<Ready, Trouble> {
    let Place { dir, mounts, .. } = *place;
    if engine.sight == Sight::Other {
        let name = clean::volume_name(place.run);
        let ready = Ready::new(made(place, name.clone(), BTreeMap::new(), engine)?);
        far::give_away(engine, &name, plan, place.labels)?;
        return Ok(ready);
    }
    if outside::can_show() {
        let view = outside::show(plan, dir, mounts)?;
        let shown = |path, mounts| Workspace::Shown { path, mounts };
        return Ok(Ready {
            workspace: shown(view.workspace, view.mounts),
            repository: view.repository.map(|path| shown(path, Vec::new())),
            covers: Vec::new(),
            hidden: view.hidden,
            placeholders: view.placeholders,
            unprotected: view.unprotected,
            layered: Vec::new(),
        });
    }
    let source = &plan.workspace.source.real;
    let blocked = outside::blocked_in(source, &plan.blocked)?;
    let mut ready = match plan.workspace.mode {
        Mode::Stage if plan.copies() => Ready::new(Workspace::Itself(dir.join(COPY))),
        Mode::Stage => {
            make_layers(dir, source)?;
            let name = clean::volume_name(place.run);
            Ready::new(layered(place, name, OF_WORKSPACE, engine)?)
        }
        Mode::Direct | Mode::Readonly => Ready::new(Workspace::Itself(source.0.clone())),
    };
    ready.cover(plan, dir, blocked)?;
    ready.protect_git(plan);
    if let Some(repository) = &plan.repository {
        ready.repository = Some(match plan.workspace.mode {
            Mode::Stage if plan.copies() => {
                outside::settle_repository_copy(repository, dir)?;
                Workspace::Itself(dir.join(GIT_COPY))
            }
            Mode::Stage => {
                outside::make_repository_layers(repository, dir)?;
                let link = dir.join(GIT_LOWER);
                let source = &repository.source.real;
                symlink(source, &link).map_err(failed("make", &link))?;
                let name = clean::repository_volume_name(place.run);
                layered(place, name, OF_REPOSITORY, engine)?
            }
            Mode::Direct | Mode::Readonly => {
                ready.cover_settings(repository, dir)?;
                Workspace::Itself(repository.source.real.0.clone())
            }
        });
    }
    ready.note_layers(plan);
    Ok(ready)
}

/// Names of a staged tree's layers.
struct Layers {
    lower: &'static str,
    upper: &'static str,
    work: &'static str,
}

const OF_WORKSPACE: Layers = Layers { lower: LOWER, upper: UPPER, work: WORK };
const OF_REPOSITORY: Layers = Layers { lower: GIT_LOWER, upper: GIT_UPPER, work: GIT_WORK };

/// An overlay that the engine mounts: as a volume, or, where it has no right to mount those, in its own way.
fn layered(
    place: &Place<'_>,
    name: String,
    layers: Layers,
    engine: &Engine,
) -> Result<Workspace, Trouble> {
    if engine.rights == Rights::Roots {
        return volume(place, name, layers, engine);
    }
    plain(place.dir)?;
    let at = |name| place.dir.join(name);
    let Layers { lower, upper, work } = layers;
    Ok(Workspace::Overlay { lower: at(lower), upper: at(upper), work: at(work) })
}

/// A volume of the engine's, of which the layers lie in the run's directory.
fn volume(
    place: &Place<'_>,
    name: String,
    layers: Layers,
    engine: &Engine,
) -> Result<Workspace, Trouble> {
    made(place, name, overlay(place.dir, layers)?, engine)
}

fn made(
    place: &Place<'_>,
    name: String,
    driver_opts: BTreeMap<String, String>,
    engine: &Engine,
) -> Result<Workspace, Trouble> {
    let request = VolumeRequest {
        name: name.clone(),
        driver: "local".to_owned(),
        driver_opts,
        labels: place.labels.clone(),
    };
    engine.post::<Value>("/volumes/create", &request, Patience::Short)?;
    Ok(Workspace::Volume(name))
}

impl Ready {
    fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            repository: None,
            covers: Vec::new(),
            hidden: Vec::new(),
            placeholders: Vec::new(),
            unprotected: Vec::new(),
            layered: Vec::new(),
        }
    }

    /// Notes where overlays have to be seen.
    fn note_layers(&mut self, plan: &Plan) {
        let targets = [Some(&plan.workspace.target), plan.repository.as_ref().map(|r| &r.target)];
        for (view, target) in [Some(&self.workspace), self.repository.as_ref()].iter().zip(targets)
        {
            if let (Some(Workspace::Overlay { upper, .. }), Some(target)) = (view, target) {
                self.layered.push(Layered { target: target.to_path_buf(), upper: upper.clone() });
            }
        }
    }

    /// Lays the settings that hold inside over those of a submodule's repository.
    fn cover_settings(&mut self, repository: &Repository, dir: &Path) -> Result<(), Trouble> {
        let Some(settings) = outside::repository_settings(repository)? else { return Ok(()) };
        let covers = dir.join(COVERS);
        make_dir(&covers)?;
        let file = covers.join("git-config");
        fs::write(&file, settings).map_err(failed("write", &file))?;
        self.covers.push((file, repository.target.join("config")));
        Ok(())
    }

    /// Binds the workspace's own `.git` read-only over itself where the rest is written to directly: git on the
    /// host executes what stands in there. A link is left alone, as in a native sandbox.
    fn protect_git(&mut self, plan: &Plan) {
        let git = plan.workspace.source.real.join(".git");
        let there = fs::symlink_metadata(&git).is_ok_and(|meta| !meta.is_symlink());
        let hidden = self.hidden.iter().any(|path| path == Path::new(".git"));
        if plan.workspace.mode == Mode::Direct && there && !hidden {
            self.covers.push((git, plan.workspace.target.join(".git")));
        }
    }

    /// Lays something empty over each blocked path. A link, or a name that is not there yet, first gets a file
    /// to be covered, where that does not touch the host.
    fn cover(&mut self, plan: &Plan, dir: &Path, blocked: Blocked) -> Result<(), Trouble> {
        let Blocked { mut files, mut directories, links, missing } = blocked;
        // A link cannot be covered, but what it leads to can, as far as that is in the container at all.
        let source = &plan.workspace.source.real;
        for link in &links {
            let Ok(led_to) = fs::canonicalize(source.join(link)) else { continue };
            let Ok(inside) = led_to.strip_prefix(source) else { continue };
            if inside.as_os_str().is_empty() {
                let source = io::Error::other("it leads to the workspace itself");
                return Err(Trouble::Io { action: "hide", path: link.clone(), source });
            }
            let covered = if led_to.is_dir() { &mut directories } else { &mut files };
            covered.push(inside.to_owned());
        }
        let made: Vec<PathBuf> = links.into_iter().chain(missing).collect();
        match plan.workspace.mode {
            Mode::Stage => {
                let upper = dir.join(if plan.copies() { COPY } else { UPPER });
                let mut noted = Vec::new();
                for path in &made {
                    placeholder(&upper, path, &plan.workspace.source.real, &mut noted)?;
                    files.push(path.clone());
                }
                note(&dir.join(PLACEHOLDERS), &noted)?;
                self.placeholders = noted;
            }
            Mode::Direct => self.unprotected = made,
            // What cannot be written cannot be made.
            Mode::Readonly => {}
        }
        for paths in [&mut files, &mut directories] {
            paths.sort();
            paths.dedup();
        }
        if files.is_empty() && directories.is_empty() {
            return Ok(());
        }
        let covers = dir.join(COVERS);
        let (file, directory) = (covers.join("file"), covers.join("directory"));
        make_dir(&directory)?;
        fs::write(&file, b"").map_err(failed("write", &file))?;
        let mode = fs::Permissions::from_mode(0o444);
        fs::set_permissions(&file, mode).map_err(failed("change", &file))?;
        for (cover, paths) in [(&file, &files), (&directory, &directories)] {
            let target = |path: &PathBuf| plan.workspace.target.join(path);
            self.covers.extend(paths.iter().map(|path| (cover.clone(), target(path))));
            self.hidden.extend(paths.iter().cloned());
        }
        Ok(())
    }
}

/// An empty file in the upper layer, with the directories on the way to it.
fn placeholder(
    upper: &Path,
    path: &Path,
    lower: &Path,
    noted: &mut Vec<PathBuf>,
) -> Result<(), Trouble> {
    let ways: Vec<&Path> = path.ancestors().skip(1).filter(|w| !w.as_os_str().is_empty()).collect();
    for way in ways.into_iter().rev() {
        let place = upper.join(way);
        if place.is_dir() {
            continue;
        }
        let below = fs::symlink_metadata(lower.join(way)).ok();
        let mode = below.as_ref().map_or(0o755, |meta| meta.permissions().mode() & 0o7777);
        let exact = fs::Permissions::from_mode(mode);
        let made = fs::create_dir(&place).and_then(|()| fs::set_permissions(&place, exact));
        made.map_err(failed("make", &place))?;
        // One that stands in the host's tree as well is no new one.
        if below.is_none() {
            noted.push(way.to_owned());
        }
    }
    let place = upper.join(path);
    // In a copy there is the link itself, and what it leads to is not ours to write to.
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("replace", &place)(error));
        }
        _ => {}
    }
    fs::write(&place, b"").map_err(failed("write", &place))?;
    noted.push(path.to_owned());
    Ok(())
}

fn note(file: &Path, paths: &[PathBuf]) -> Result<(), Trouble> {
    use std::os::unix::ffi::OsStrExt as _;
    if paths.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    for path in paths {
        text.extend(path.as_os_str().as_bytes());
        text.push(0);
    }
    fs::write(file, text).map_err(failed("write", file))
}

/// The layers, and a link to the workspace: its own path may hold signs that mean something to a mount.
fn make_layers(dir: &Path, workspace: &Path) -> Result<(), Trouble> {
    let upper = dir.join(UPPER);
    let meta = fs::metadata(workspace).map_err(failed("look at", workspace))?;
    make_dir(&upper)?;
    let mode = fs::Permissions::from_mode(meta.mode() & 0o7777);
    fs::set_permissions(&upper, mode).map_err(failed("change", &upper))?;
    make_dir(&dir.join(WORK))?;
    let link = dir.join(LOWER);
    symlink(workspace, &link).map_err(failed("make", &link))
}

/// As an unprivileged native sandbox mounts it: what marks removed directories can be read by who owns them.
fn overlay(dir: &Path, layers: Layers) -> Result<BTreeMap<String, String>, Trouble> {
    let Layers { lower, upper, work } = layers;
    let path = plain(dir)?;
    let options = format!(
        "lowerdir={path}/{lower},upperdir={path}/{upper},workdir={path}/{work},\
         userxattr,redirect_dir=nofollow,metacopy=off,index=off,xino=off"
    );
    let pairs = [("type", "overlay"), ("device", "overlay"), ("o", options.as_str())];
    Ok(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// A path in which nothing means anything to an engine.
fn plain(dir: &Path) -> Result<&str, Trouble> {
    let path = dir.to_str().filter(|path| !path.contains([',', ':', '\\', '"', '\'']));
    path.ok_or_else(|| {
        let source =
            io::Error::other("an engine cannot be told a path with , : \\ or quotes in it");
        Trouble::Io { action: "stage in", path: dir.to_owned(), source }
    })
}

fn make_dir(path: &Path) -> Result<(), Trouble> {
    let open = fs::Permissions::from_mode(0o755);
    // Said outright, so that the caller's umask makes no difference.
    let made = fs::create_dir_all(path).and_then(|()| fs::set_permissions(path, open));
    made.map_err(failed("make", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Trouble {
    let path = path.to_owned();
    move |source| Trouble::Io { action, path, source }
}
