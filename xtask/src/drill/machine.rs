//! Another machine: Ubuntu with systemd, control groups of version 2 and a kernel of its own, in an emulator.
//!
//! What most people have and a container or a build host has not: a login, a service manager for each user, limits that
//! have to be asked of it, and AppArmor, which in Ubuntu's kernel and in no other keeps user namespaces from programs without a profile.
//! `inside.sh` tries it all as root and as plain users, and says what held. Without a network; the
//! machine's disk is made of Ubuntu's packages, once, and thrown away after each use.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Asked;
use super::report::Report;
use crate::cargo::{succeed, target_dir};
use crate::place::Place;
use crate::provide::{is_there, package};

/// What is tried, in a directory of its own there.
const SCRIPTS: [(&str, &str); 6] = [
    ("inside.sh", include_str!("machine/inside.sh")),
    ("words.sh", include_str!("machine/words.sh")),
    ("claims.sh", include_str!("machine/claims.sh")),
    ("apparmor.sh", include_str!("machine/apparmor.sh")),
    ("restricted.sh", include_str!("machine/restricted.sh")),
    ("profiled.sh", include_str!("machine/profiled.sh")),
];
/// Ubuntu 24.04.
const SUITE: &str = "noble";
const PACKAGES: &str = "systemd-sysv,dbus,dbus-user-session,libpam-systemd,linux-image-virtual,initramfs-tools,udev,\
     python3-minimal,procps,util-linux,apparmor,sudo";
/// What Ubuntu's packages are signed with, and where Debian has it; bookworm has not.
const KEYS: &str = "usr/share/keyrings/ubuntu-archive-keyring.gpg";
const KEYS_PACKAGE: (&str, &str) = ("ubuntu-archive-keyring", "trixie");
const UNIT: &str = "\
[Unit]
After=multi-user.target
[Service]
ExecStart=/drill/inside.sh
StandardOutput=tty
StandardError=null
TTYPath=/dev/ttyS0
";
/// An emulator is slow, and the host may be busy.
const LONGEST: Duration = Duration::from_secs(30 * 60);

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    for (program, package_of) in [
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("mmdebstrap", "mmdebstrap"),
        ("mke2fs", "e2fsprogs"),
    ] {
        if !is_there(program) {
            package(package_of).with_context(|| format!("{program} is missing"))?;
        }
    }
    let place = Place::new()?;
    let root = place.top().join("root");
    unpack(&base()?, &root)?;
    furnish(&root, &asked.program)?;
    let disk = place.top().join("disk");
    let mut format = Command::new("mke2fs");
    succeed(format.args(["-q", "-t", "ext4", "-d"]).arg(&root).arg(&disk).arg("4G"))?;
    eprintln!("starting the machine: some minutes");
    let said = boot(&root.join("boot"), &disk, place.top())?;
    Ok(judge(&said))
}

/// What the machine said, line by line, becomes what the drill says.
fn judge(said: &str) -> Report {
    let mut report = Report::new("machine");
    let held = said.lines().filter(|line| line.trim_end().starts_with("HELD ")).count();
    report.count("claims that held", held);
    said.lines()
        .map(str::trim_end)
        .filter_map(|line| line.strip_prefix("BROKEN "))
        .for_each(|broken| report.wrong(broken));
    let last = said.lines().rev().map(str::trim_end).find(|line| !line.is_empty());
    report.expect(said.lines().any(|line| line.trim_end() == "END") && held > 0, || {
        format!("the machine did not come to the end; its last words: {}", last.unwrap_or("none"))
    });
    report
}

/// The archive of a fresh system, made of packages the first time.
fn base() -> Result<PathBuf> {
    let dir = target_dir()?.join("drill-machine");
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let archive = dir.join(format!("{SUITE}.tar"));
    if !archive.exists() {
        eprintln!("making a system of Ubuntu's packages, once");
        let half = dir.join("half.tar");
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", "--variant=minbase", "--include", PACKAGES]);
        make.arg("--keyring").arg(keys(&dir)?).arg(SUITE).arg(&half);
        succeed(&mut make)?;
        fs::rename(&half, &archive).with_context(|| archive.display().to_string())?;
    }
    Ok(archive)
}

/// The host's own keys for Ubuntu's packages, or those of a package of Debian's, whose keys the host has.
fn keys(dir: &Path) -> Result<PathBuf> {
    let own = Path::new("/").join(KEYS);
    if own.exists() {
        return Ok(own);
    }
    let (package, suite) = KEYS_PACKAGE;
    let archive = dir.join("keys.tar");
    let mut fetch = Command::new("mmdebstrap");
    fetch.args(["--quiet", "--variant=extract", "--include", package, suite]).arg(&archive);
    succeed(&mut fetch)?;
    succeed(
        Command::new("tar").arg("-C").arg(dir).arg("-xf").arg(&archive).arg(format!("./{KEYS}")),
    )?;
    Ok(dir.join(KEYS))
}

fn unpack(archive: &Path, root: &Path) -> Result<()> {
    fs::create_dir(root).with_context(|| root.display().to_string())?;
    succeed(Command::new("tar").arg("-C").arg(root).arg("-xf").arg(archive))
}

/// The program, what is to be tried, and that it is tried at boot.
fn furnish(root: &Path, program: &Path) -> Result<()> {
    let put = |at: &str, bytes: &[u8], mode: u32| -> Result<()> {
        let path = root.join(at);
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).context("chmod")
    };
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    put("usr/local/bin/cofferdam", &bytes, 0o755)?;
    fs::create_dir(root.join("drill")).context("a directory for the scripts")?;
    for (name, text) in SCRIPTS {
        put(&format!("drill/{name}"), text.as_bytes(), 0o755)?;
    }
    put("etc/hostname", b"machine\n", 0o644)?;
    put("etc/fstab", b"/dev/vda / ext4 defaults 0 1\n", 0o644)?;
    put("etc/systemd/system/inside.service", UNIT.as_bytes(), 0o644)?;
    let wanted = root.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wanted).with_context(|| wanted.display().to_string())?;
    symlink("../inside.service", wanted.join("inside.service")).context("a link to the unit")?;
    // It would hang up the line that the machine speaks over.
    symlink("/dev/null", root.join("etc/systemd/system/serial-getty@ttyS0.service"))
        .context("a link in the place of the login")
}

fn boot(from: &Path, disk: &Path, place: &Path) -> Result<String> {
    let file = |prefix: &str| -> Result<PathBuf> {
        let names = fs::read_dir(from).with_context(|| from.display().to_string())?;
        let found = names.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        });
        found.with_context(|| format!("no {prefix} in {}", from.display()))
    };
    let log = place.join("said");
    let mut machine = Command::new("timeout");
    machine.arg(LONGEST.as_secs().to_string()).arg("qemu-system-x86_64");
    machine.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048"]);
    machine.args(["-display", "none", "-no-reboot", "-nic", "none"]);
    machine.arg("-serial").arg(format!("file:{}", log.display()));
    machine.arg("-kernel").arg(file("vmlinuz-")?).arg("-initrd").arg(file("initrd.img-")?);
    machine
        .args(["-append", "root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=0"]);
    machine.arg("-drive").arg(format!("file={},format=raw,if=virtio", disk.display()));
    // However it ends, what it said tells more.
    machine.stdin(Stdio::null()).status().context("cannot start the emulator")?;
    let said = fs::read(&log).with_context(|| log.display().to_string())?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_falls_silent_or_breaks_a_claim_is_wrong() {
        assert!(judge("boot\r\nHELD root: a\r\nEND\r\n").wrong.is_empty());
        assert_eq!(judge("HELD root: a\nBROKEN root: b: 1 instead of 2\nEND\n").wrong.len(), 1);
        assert_eq!(judge("HELD root: a\nkernel panic\n").wrong.len(), 1);
        assert_eq!(judge("END\n").wrong.len(), 1, "nothing was tried");
    }
}
