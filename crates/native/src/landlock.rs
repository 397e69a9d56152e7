//! Landlock: a second lock behind the mounts. Reading and executing is allowed everywhere in the
//! sandbox's own root, changing only beneath the places that are named.
//!
//! It holds even where a mount is writable by mistake. On newer kernels it also keeps signals and
//! abstract sockets inside. It says nothing about modes, owners or time stamps, nor about connecting
//! to a socket that has a path. `/proc` stays read-only: it is a way to another process's memory.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};

use crate::sys::confine::{self, Handled};
use crate::sys::{self, SysError};

#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    #[error("this kernel has no Landlock: boot it with landlock in its lsm= list")]
    NotSupported,
    #[error("landlock cannot be set up")]
    Sys(#[from] SysError),
}

/// The version of Landlock that a thread is held by, for the receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Abi(u32);

impl Abi {
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Signals and abstract sockets stay inside, too.
    pub const fn scopes(self) -> bool {
        self.0 >= 6
    }
}

/// Holds the calling thread, and all that it starts, to reading and executing beneath `/`, changing
/// beneath `writable`, and using the devices in `/dev`. For good. To be called in the sandbox's own root;
/// needs no-new-privileges. A writable place that is not there is an error.
pub fn restrict_here(writable: &[&CStr]) -> Result<Abi, LandlockError> {
    let abi = match sys::landlock_abi() {
        0 => return Err(LandlockError::NotSupported),
        version => Abi(version),
    };
    let ruleset = confine::landlock_ruleset(abi.handled())?;
    abi.allow(&ruleset, c"/", READ)?;
    abi.allow(&ruleset, c"/dev", USE_DEVICES)?;
    for place in writable {
        abi.allow(&ruleset, place, CHANGE)?;
    }
    confine::landlock_restrict(ruleset.as_fd())?;
    Ok(abi)
}

// Rights, as `linux/landlock.h` numbers them.
const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_SYM: u64 = 1 << 12;
/// Moving and linking between directories.
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Device nodes are nowhere made: those two rights are handled and given to nobody.
const CHANGE: u64 = WRITE_FILE
    | TRUNCATE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER;
const USE_DEVICES: u64 = WRITE_FILE | TRUNCATE | IOCTL_DEV;
/// What can be allowed on something that is no directory.
const ON_FILES: u64 = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV;

const SCOPE_ABSTRACT_SOCKETS: u64 = 1 << 0;
const SCOPE_SIGNALS: u64 = 1 << 1;

impl Abi {
    /// Everything this version can forbid. TCP ports (version 4) are left to the network namespace.
    const fn handled(self) -> Handled {
        let scoped = if self.scopes() { SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS } else { 0 };
        Handled { fs: self.known_rights(), net: 0, scoped }
    }

    /// The rights form a row, and each version made it longer.
    const fn known_rights(self) -> u64 {
        let newest = match self.0 {
            0 | 1 => MAKE_SYM,
            2 => REFER,
            3 | 4 => TRUNCATE,
            _ => IOCTL_DEV,
        };
        newest | (newest - 1)
    }

    fn allow(self, ruleset: &OwnedFd, place: &CStr, rights: u64) -> Result<(), SysError> {
        let on = |call| move |errno| SysError::on(call, place.to_string_lossy(), errno);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let fd = rustix::fs::open(place, flags, Mode::empty()).map_err(on("open"))?;
        let stat = rustix::fs::fstat(&fd).map_err(on("fstat"))?;
        let fitting = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => rights,
            _ => rights & ON_FILES,
        };
        confine::landlock_allow(ruleset.as_fd(), fd.as_fd(), fitting & self.known_rights())
    }
}

#[cfg(test)]
mod tests;
