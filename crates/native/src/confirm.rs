//! What a confined process reads back about itself. Anything that is not as planned is an error, and
//! then nothing is executed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cofferdam_core::plan::Root;
use cofferdam_core::spec::Mode;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;

use crate::blocked::Hidden;
use crate::kernel_text;
use crate::landlock::Abi;
use crate::recipe::Kit;
use crate::report::Facts;
use crate::sys::SysError;

pub(crate) fn look(
    kit: &Kit<'_>,
    landlock: Option<Abi>,
    hidden: &Hidden,
) -> Result<Facts, SysError> {
    let Kit { plan, identity, .. } = *kit;
    let text = kernel_text::read("/proc/self/status")
        .map_err(|e| SysError::on("read", "/proc/self/status", e))?;
    let status = Status(&text);
    status.expect_ids("Uid", identity.uid)?;
    status.expect_ids("Gid", identity.gid)?;
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        status.expect(set, "0000000000000000")?;
    }
    status.expect("NoNewPrivs", "1")?;
    if plan.seccomp.is_some() {
        status.expect("Seccomp", "2")?;
    }
    let root = access_of(Path::new("/"))?;
    if !matches!(plan.root, Root::Host { readonly: false }) {
        expect("/", root, READONLY)?;
    }
    let usr = access_of(Path::new("/usr"))?;
    expect("/usr", usr, READONLY)?;
    let workspace = access_of(&plan.workspace.target)?;
    let wanted = if plan.workspace.mode == Mode::Readonly { READONLY } else { WRITABLE };
    expect("the workspace", workspace, wanted)?;
    Ok(Facts {
        privileges: format!(
            "uid {}, gid {}, CapEff {}, CapBnd {}, NoNewPrivs {}",
            identity.uid,
            identity.gid,
            status.field("CapEff"),
            status.field("CapBnd"),
            status.field("NoNewPrivs")
        ),
        seccomp: format!("Seccomp {}", status.field("Seccomp")),
        landlock: landlock.map(|abi| format!("ABI {}", abi.number())).unwrap_or_default(),
        network: other_network_than(kit.host_network)?,
        root: format!("/ {root}, /usr {usr}"),
        workspace: workspace.to_owned(),
        hidden: hidden.paths.iter().map(|path| path.display().to_string()).collect(),
        unprotected: hidden.unprotected.iter().map(|path| path.display().to_string()).collect(),
        probes: Vec::new(),
    })
}

const READONLY: &str = "read-only";
const WRITABLE: &str = "writable";

fn access_of(path: &Path) -> Result<&'static str, SysError> {
    let flags = statvfs(path).map_err(|e| SysError::on("statvfs", path.display(), e))?.f_flag;
    // No mount of ours lets a file give its owner's rights away.
    if !flags.contains(StatVfsMountFlags::NOSUID) && !weakened(Weakness::ReadBack) {
        return Err(SysError::on(
            "statvfs",
            format!("{}: not nosuid", path.display()),
            Errno::PERM,
        ));
    }
    Ok(if flags.contains(StatVfsMountFlags::RDONLY) { READONLY } else { WRITABLE })
}

/// The number of the network namespace that this process is in.
pub(crate) fn network_namespace() -> Result<u64, SysError> {
    let file = "/proc/self/ns/net";
    fs::metadata(file).map(|meta| meta.ino()).map_err(|e| SysError::on("stat", file, e))
}

fn other_network_than(host: u64) -> Result<String, SysError> {
    let ours = network_namespace()?;
    if ours == host && !weakened(Weakness::ReadBack) {
        return Err(SysError::on("read back", "network namespace: the host's", Errno::PERM));
    }
    Ok(ours.to_string())
}

/// The text of a `/proc/PID/status`, see proc_pid_status(5).
struct Status<'a>(&'a str);

impl Status<'_> {
    fn field(&self, name: &str) -> &str {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map_or("", str::trim)
    }

    fn expect(&self, name: &str, wanted: &str) -> Result<(), SysError> {
        expect(name, self.field(name), wanted)
    }

    /// Real, effective, saved and file-system id.
    fn expect_ids(&self, name: &str, id: u32) -> Result<(), SysError> {
        let id = id.to_string();
        self.expect(name, &[id.as_str(); 4].join("\t"))
    }
}

fn expect(name: &str, found: &str, wanted: &str) -> Result<(), SysError> {
    if found == wanted || weakened(Weakness::ReadBack) {
        return Ok(());
    }
    let what = format!("{name}: {found} instead of {wanted}");
    Err(SysError::on("read back", what, Errno::PERM))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\tx\nUid:\t5\t5\t5\t5\nGid:\t5\t0\t5\t5\nCapEff:\t0000000000000000\n\
                        CapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";

    #[test]
    fn a_status_that_is_not_as_wanted_is_an_error() {
        let status = Status(TEXT);
        assert!(status.expect_ids("Uid", 5).is_ok());
        assert!(status.expect_ids("Gid", 5).is_err());
        assert!(status.expect("CapEff", "0000000000000000").is_ok());
        assert!(status.expect("CapBnd", "0000000000000000").is_err());
        assert!(status.expect("Seccomp", "2").is_ok());
        assert!(status.expect("CapAmb", "0000000000000000").is_err());
    }
}
