//! An engine that does not see this host's files: the workspace is sent to it, and what became of it is brought back.
//!
//! [`send`] puts the copy of the workspace into the container's volume before it is started, without what is blocked;
//! [`bring_back`] has the engine pack it up when nothing runs in there any more, and merges that into the copy, which is
//! then sealed like any other. Until it is back, a mark in the run's directory says so, and nothing is sealed: also
//! after a crash the next clean-up brings it first.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::plan::Plan;
use cofferdam_native::COPY;
use cofferdam_native::outside::{self, Blocked, User};
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header, HeaderMode};

use super::{LABEL_RUN, Trouble, clean, root};
use crate::changes::copy::merge::{Merging, merge};
use crate::changes::seal::{AWAY, LOST};
use crate::engine::{Engine, Patience, at, encoded, labelled};

/// Archives on their way, in the run's directory.
const SPOOL: &str = "archive";
const ENTRY: &str = "entry";

/// What has to be known to bring it back, also by somebody else.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Note {
    /// Where the container has it.
    target: PathBuf,
    /// What was not sent.
    hidden: Vec<PathBuf>,
}

/// Gives an empty volume to the program's user. An engine changes no top of what is unpacked, but a new volume looks like
/// the place in the image that it is mounted over; so one is mounted, and never used.
pub(super) fn give_away(
    engine: &Engine,
    volume: &str,
    plan: &Plan,
    labels: &BTreeMap<String, String>,
) -> Result<(), Trouble> {
    let source = &plan.workspace.source.real;
    let meta = fs::metadata(source).map_err(failed("look at", source))?;
    let user = User::for_workspace(&meta);
    let target = &plan.workspace.target;
    let tar = place(target, &meta, user).map_err(failed("pack", target))?;
    let name = format!("cofferdam-place-{}", &blake3::hash(&tar).to_hex()[..16]);
    let image = match root::named(engine, &name)? {
        Some(image) => image,
        None => {
            let label = encoded("LABEL cofferdam.image=place");
            let from = format!("/images/create?fromSrc=-&repo={name}&tag=latest&changes={label}");
            engine.send_tar(&from, &tar)?;
            let missing = || Trouble::NoImage { name: name.clone(), said: "not made".into() };
            root::named(engine, &name)?.ok_or_else(missing)?
        }
    };
    let mount = json!({ "Type": "volume", "Source": volume, "Target": target });
    let request = json!({
        "Image": image.id, "Cmd": ["-"], "Labels": labels,
        "HostConfig": { "NetworkMode": "none", "Mounts": [mount] },
    });
    let made: Value = engine.post("/containers/create", &request, Patience::Long)?;
    let id = at(&made, &["Id"]).as_str().unwrap_or_default();
    Ok(clean::remove(engine, id)?)
}

/// An image with nothing but the workspace's place, as the workspace is.
fn place(target: &Path, meta: &fs::Metadata, user: User) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let mut header = header(meta, user);
    header.set_entry_type(EntryType::Directory);
    header.set_size(0);
    header.set_mtime(0);
    let name = target.strip_prefix("/").unwrap_or(target);
    archive.append_data(&mut header, name, io::empty())?;
    archive.into_inner()
}

/// Sends the copy of the workspace to a container that is not started yet. What of it is hidden.
pub(super) fn send(
    engine: &Engine,
    id: &str,
    plan: &Plan,
    dir: &Path,
    user: User,
) -> Result<Vec<PathBuf>, Trouble> {
    let copy = dir.join(COPY);
    let Blocked { files, directories, links, missing } = outside::blocked_in(&copy, &plan.blocked)?;
    let hidden: Vec<PathBuf> = [files, directories, links, missing].concat();
    let target = plan.workspace.target.0.clone();
    let note = Note { target: target.clone(), hidden: hidden.clone() };
    let mark = dir.join(AWAY);
    let text = serde_json::to_vec(&note).map_err(|error| failed("write", &mark)(error.into()))?;
    crate::state::write_atomically(&mark, &text)?;
    let spool = dir.join(SPOOL);
    let packed = pack(&copy, &hidden, user, &spool).map_err(failed("pack", &copy))?;
    let place = encoded(&target.to_string_lossy());
    engine.put_file(&format!("/containers/{id}/archive?path={place}"), &packed)?;
    fs::remove_file(&spool).map_err(failed("remove", &spool))?;
    Ok(hidden)
}

fn pack(copy: &Path, hidden: &[PathBuf], user: User, spool: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(spool)?;
    let mut archive = Builder::new(BufWriter::new(file));
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        let mut header = header(&fs::symlink_metadata(copy.join(&dir))?, user);
        header.set_entry_type(EntryType::Directory);
        header.set_size(0);
        archive.append_data(&mut header, Path::new(".").join(&dir), io::empty())?;
        for entry in fs::read_dir(copy.join(&dir))? {
            let path = dir.join(entry?.file_name());
            if hidden.contains(&path) {
                continue;
            }
            let (place, name) = (copy.join(&path), Path::new(".").join(&path));
            let meta = fs::symlink_metadata(&place)?;
            let mut header = self::header(&meta, user);
            if meta.is_dir() {
                open.push(path);
            } else if meta.is_symlink() {
                header.set_entry_type(EntryType::Symlink);
                header.set_size(0);
                archive.append_link(&mut header, name, fs::read_link(&place)?)?;
            } else if meta.is_file() {
                archive.append_data(&mut header, name, File::open(&place)?)?;
            }
        }
    }
    let mut file = archive.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}

fn header(meta: &fs::Metadata, user: User) -> Header {
    let mut header = Header::new_gnu();
    header.set_metadata_in_mode(meta, HeaderMode::Complete);
    header.set_mode(meta.mode() & 0o7777);
    header.set_uid(u64::from(user.uid));
    header.set_gid(u64::from(user.gid));
    header
}

/// Brings back what became of a run's workspace, where that is still with the engine. Whatever runs in the container is
/// ended first.
pub(super) fn bring_back(engine: &Engine, run: &str, dir: &Path) -> Result<(), Trouble> {
    let mark = dir.join(AWAY);
    let text = match fs::read(&mark) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("read", &mark)(error)),
    };
    let note: Note = serde_json::from_slice(&text).map_err(|e| failed("read", &mark)(e.into()))?;
    let filter = labelled(&format!("{LABEL_RUN}={run}"));
    let found: Value =
        engine.get(&format!("/containers/json?all=1&filters={filter}"), Patience::Short)?;
    let id = at(found.get(0).unwrap_or(&Value::Null), &["Id"]).as_str();
    let Some(id) = id else {
        // Somebody removed it, and what was in it.
        let lost = dir.join(LOST);
        return fs::rename(&mark, &lost).map_err(failed("make", &lost));
    };
    match engine.tell(&format!("/containers/{id}/kill"), Patience::Long) {
        // It runs no more.
        Err(error) if error.is_conflict() => {}
        answer => answer?,
    }
    let (spool, entry, copy) = (dir.join(SPOOL), dir.join(ENTRY), dir.join(COPY));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&spool);
    let mut file = file.map_err(failed("write", &spool))?;
    let place = encoded(&note.target.to_string_lossy());
    engine.get_file(&format!("/containers/{id}/archive?path={place}"), &mut file)?;
    file.rewind().map_err(failed("read", &spool))?;
    let meta = fs::metadata(&copy).map_err(failed("look at", &copy))?;
    let owner = outside::can_show().then(|| (meta.uid(), meta.gid()));
    let merging = Merging { copy: &copy, spool: &entry, hidden: &note.hidden, owner };
    merge(&merging, BufReader::new(file)).map_err(failed("bring back", &copy))?;
    for path in [&spool, &mark] {
        fs::remove_file(path).map_err(failed("remove", path))?;
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Trouble {
    let path = path.to_owned();
    move |source| Trouble::Io { action, path, source }
}
