//! A made-up `/etc`: who is there, what the host is called, and the few system settings that programs
//! cannot do without. Nothing in it says anything about the host's people, network or secrets.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::plan::HOME;
use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};

use super::{Covers, Root};
use crate::identity::Identity;
use crate::sys::SysError;
use crate::sys::mount::Depth;

/// The host's name as the program sees it.
pub(crate) const HOSTNAME: &str = "sandbox";

/// Public settings of the system that are shown as the host has them, where it has them. A link is
/// shown as the same link, a small file as a copy, which is cheaper than a mount; the rest is bound.
const SHOWN: [(&str, &str); 12] = [
    ("ld.so.cache", "the dynamic linker finds libraries by it"),
    ("ld.so.conf", "linkers of other toolchains read it"),
    ("alternatives", "commands in /usr/bin lead through it"),
    ("localtime", "local time"),
    ("os-release", "installers ask which system this is"),
    ("services", "names of ports"),
    ("protocols", "names of protocols"),
    ("ssl/certs", "certificates of public authorities"),
    ("ssl/openssl.cnf", "OpenSSL will not start without it"),
    ("pki", "certificates of public authorities, as Fedora has them"),
    ("ca-certificates/extracted", "certificates of public authorities, as Arch has them"),
    ("crypto-policies", "crypto libraries of Fedora will not start without it"),
];

/// Where Java runtimes are; on Debian each keeps its configuration in `/etc`, under its name without the
/// machine, and does not start without it.
const JAVA: &str = "/usr/lib/jvm";

/// A larger file is bound: what does not fit into a page takes longer to copy than to mount.
const COPIED: u64 = 4 << 10;

/// Files of `SHOWN` directories that are not public.
const PRIVATE: [&str; 2] = ["etc/pki/tls/private", "etc/pki/nssdb"];

/// What of the host it depends on.
pub(crate) fn looked_at() -> Result<impl Iterator<Item = PathBuf>, SysError> {
    let names = SHOWN.iter().map(|(name, _)| (*name).to_owned()).chain(java_runtimes()?);
    let shown = names.map(|name| Path::new("/etc").join(name));
    Ok(shown.chain(PRIVATE.iter().map(|path| Path::new("/").join(path))))
}

pub(crate) fn make(
    root: &Root,
    identity: &Identity,
    covers: &Covers,
    depth: Depth,
) -> Result<(), SysError> {
    root.directory("etc")?;
    root.directory("etc/ssl")?;
    for (name, text) in written(identity.uid, identity.gid) {
        root.file(&format!("etc/{name}"), text.as_bytes())?;
    }
    root.symlink("etc/mtab", "/proc/self/mounts")?;
    for (name, _) in SHOWN {
        show(root, name, depth)?;
    }
    for name in java_runtimes()? {
        show(root, &name, depth)?;
    }
    for name in PRIVATE {
        covers.hide_in(root, name)?;
    }
    Ok(())
}

/// The files that are made up, with their content.
pub(crate) fn written(uid: u32, gid: u32) -> [(&'static str, String); 6] {
    [
        (
            "passwd",
            format!(
                "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
                 sandbox:x:{uid}:{gid}:sandbox:{HOME}:/bin/sh\n\
                 nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        ),
        ("group", format!("root:x:0:\nsandbox:x:{gid}:\nnogroup:x:65534:\n")),
        (
            "hosts",
            format!("127.0.0.1 localhost {HOSTNAME}\n::1 localhost ip6-localhost ip6-loopback\n"),
        ),
        ("hostname", format!("{HOSTNAME}\n")),
        ("resolv.conf", "# no network, no name server\n".to_owned()),
        (
            "nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
                .to_owned(),
        ),
    ]
}

/// Names in `/etc` that belong to installed Java runtimes, as far as they are there.
fn java_runtimes() -> Result<BTreeSet<String>, SysError> {
    let fail = |e| SysError::on("readdir", JAVA, e);
    let entries = match std::fs::read_dir(JAVA) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(e) => return Err(fail(e)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(fail)?.file_name();
        names.extend(name.to_str().and_then(configuration_of));
    }
    Ok(names)
}

/// `java-17-openjdk-amd64` → `java-17-openjdk`
fn configuration_of(runtime: &str) -> Option<String> {
    let (name, _machine) = runtime.rsplit_once('-')?;
    name.starts_with("java-").then(|| name.to_owned())
}

fn show(root: &Root, name: &str, depth: Depth) -> Result<(), SysError> {
    let host = format!("/etc/{name}");
    // What this host does not have, or keeps to itself, is not shown.
    let Ok(stat) = statat(CWD, &host, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    let path = &host[1..];
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let target = readlinkat(CWD, &host, Vec::new())
                .map_err(|e| SysError::on("readlink", &host, e))?;
            return root.symlink(path, OsStr::from_bytes(target.to_bytes()));
        }
        FileType::Directory if is_public(stat.st_mode, 0o005) => {
            if let Some((parent, _)) = name.rsplit_once('/').filter(|(parent, _)| *parent != "ssl")
            {
                root.directory(&format!("etc/{parent}"))?;
            }
            root.directory(path)?;
        }
        FileType::RegularFile if is_public(stat.st_mode, 0o004) => {
            if stat.st_size.cast_unsigned() <= COPIED {
                let content = std::fs::read(&host).map_err(|e| SysError::on("read", &host, e))?;
                return root.file(path, &content);
            }
            root.empty_file(path)?;
        }
        _ => return Ok(()),
    }
    root.bind_readonly(&host, path, depth)
}

/// Everybody may read it: nothing here is shown because of who we are.
fn is_public(mode: u32, needed: u32) -> bool {
    mode & needed == needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_three_and_none_has_a_home_of_the_host() {
        let files = written(1001, 1002);
        let text = |name: &str| &files.iter().find(|(n, _)| *n == name).unwrap().1;
        assert!(text("passwd").contains("sandbox:x:1001:1002:sandbox:/home/sandbox:/bin/sh\n"));
        assert_eq!(text("passwd").lines().count(), 3);
        assert!(text("group").contains("sandbox:x:1002:\n"));
        assert!(!text("resolv.conf").contains("nameserver "));
        assert_eq!(text("hosts").lines().count(), 2);
    }

    #[test]
    fn a_java_runtime_names_its_configuration() {
        assert_eq!(configuration_of("java-17-openjdk-amd64").as_deref(), Some("java-17-openjdk"));
        assert_eq!(configuration_of("default-java"), None);
        assert_eq!(configuration_of(".java"), None);
    }

    #[test]
    fn only_what_everybody_may_read_is_public() {
        assert!(is_public(0o100_644, 0o004) && !is_public(0o100_640, 0o004));
        assert!(is_public(0o040_755, 0o005) && !is_public(0o040_710, 0o005));
    }
}
