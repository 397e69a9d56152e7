//! A small `/dev`: the devices that every program may use, terminals and shared memory of its own.
//!
//! The nodes are the host's, shown one by one: in a user namespace none can be made. A name under
//! which the host has another device than everybody expects is refused.

use std::path::Path;

use rustix::fs::{FileType, fstat, major, minor};
use rustix::io::Errno;

use super::Root;
use crate::sys::SysError;
use crate::sys::mount::{
    Attributes, Depth, FsOption, attach_at, clone_mount_at, new_filesystem, open_beneath,
    set_attributes,
};

/// Name, major and minor number.
const NODES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

const LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];

/// Bytes that programs may share through `/dev/shm`.
pub(crate) const SHM: u64 = 64 << 20;

/// The host's devices, and places for what each sandbox has of its own.
pub(crate) fn show(root: &Root) -> Result<(), SysError> {
    root.directory("dev")?;
    for (name, major, minor) in NODES {
        show_node(root, name, (major, minor))?;
    }
    for (path, target) in LINKS {
        root.symlink(path, target)?;
    }
    root.directory("dev/pts")?;
    root.directory("dev/shm")
}

/// Terminals and shared memory.
pub(crate) fn mount(root: &Root) -> Result<(), SysError> {
    let terminals = new_filesystem(
        "devpts",
        &[
            FsOption::Flag("newinstance"),
            FsOption::Value("ptmxmode", "0666".to_owned()),
            FsOption::Value("mode", "0620".to_owned()),
        ],
        Attributes::DEVICE_FS,
    )?;
    attach_at(terminals, root, "dev/pts")?;
    let place = open_beneath(root, Path::new("dev/shm"))?;
    root.memory(place, SHM, "1777", None, &"/dev/shm")
}

fn show_node(root: &Root, name: &str, number: (u32, u32)) -> Result<(), SysError> {
    let host = format!("/dev/{name}");
    let node = clone_mount_at(&host, Depth::One)?;
    let stat = fstat(&node).map_err(|e| SysError::on("fstat", &host, e))?;
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    if !is_device || (major(stat.st_rdev), minor(stat.st_rdev)) != number {
        return Err(SysError::on("open_tree", host, Errno::NODEV));
    }
    set_attributes(&node, Attributes::DEVICE, Depth::One, None)?;
    root.empty_file(&host[1..])?;
    attach_at(node, root, &host[1..])
}
