//! What the native backend can hold on this host. On the way of every start, so it only reads a few
//! small files; a real trial is `doctor`'s business.

use std::fs;

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::{Caps, Guarantee, Lack};
use cofferdam_core::quantity::ByteSize;
use rustix::thread::CapabilitySet;

use crate::apparmor::Standing;
use crate::cgroup::{Controller, claim};
use crate::identity::effective_uid;
use crate::probe;
use crate::sys::privilege::effective_capabilities;

/// `mount_setattr` is older, but only this one can change owners below an overlay.
const OLDEST_KERNEL: (u32, u32) = (5, 19);

/// What can be held for any run; how its workspace is staged is [`staging`](crate::staging)'s to say.
pub fn caps() -> Caps {
    use Guarantee::*;
    if let Some(lack) = unusable() {
        return Caps::unusable(Backend::Native, lack.reason, lack.remedy);
    }
    let mut caps = Caps::confining(Backend::Native);
    caps.enforces.insert(Tty);
    let mut lacks = absent().to_vec();
    let found = claim();
    for controller in Controller::ALL {
        lacks.extend(found.seat(controller).err().map(|l| (controller.guarantee(), l.clone())));
    }
    if probe::landlock_abi() == 0 {
        let reason = "this kernel has no Landlock, or was started without it";
        let remedy = "boot a kernel of 5.13 or later with landlock in its lsm= list";
        lacks.push((Landlock, lack(reason, remedy)));
    }
    if !probe::seccomp_filters() {
        let reason = "this kernel has no system call filters";
        lacks.push((Seccomp, lack(reason, "boot a kernel with CONFIG_SECCOMP_FILTER")));
    }
    for (guarantee, lack) in lacks {
        caps = caps.without(guarantee, lack.reason, lack.remedy);
    }
    caps.host_memory = Some(host_memory());
    caps
}

fn lack(reason: impl Into<String>, remedy: impl Into<String>) -> Lack {
    Lack { reason: reason.into(), remedy: remedy.into() }
}

/// No backend has it: another one is no remedy.
const PROXY: &str = "named hosts need a proxy, which this version does not have";

/// What this backend has nowhere.
fn absent() -> [(Guarantee, Lack); 6] {
    use Guarantee::*;
    let network = || {
        let remedy = "use the docker or podman backend, or network none";
        lack("a native sandbox has no network but its own loopback", remedy)
    };
    let engine = |what: &str| lack(what, "use the docker or podman backend");
    [
        (ImageRoot, engine("the root of a native sandbox is the host's own system")),
        (SeccompProfile, engine("the native backend has one filter of its own")),
        (Runtime, engine("the native backend is its own runtime")),
        (NetworkBridge, network()),
        (NetworkHost, network()),
        (NetworkAllow, lack(PROXY, "use network none")),
    ]
}

/// Why no sandbox can be made at all.
fn unusable() -> Option<Lack> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if kernel_version(&release).is_some_and(|version| version < OLDEST_KERNEL) {
        let (major, minor) = OLDEST_KERNEL;
        let reason = format!("Linux {release} is older than {major}.{minor}");
        return Some(lack(reason, "use a newer kernel, or the docker backend"));
    }
    if effective_uid() == 0 {
        return missing_capabilities();
    }
    no_user_namespaces(&read_setting).or_else(|| match Standing::read() {
        Standing::Restricted(lack) => Some(lack),
        Standing::NoSwitch | Standing::Off | Standing::Profiled(_) => None,
    })
}

/// What root itself may lack, as in a container.
fn missing_capabilities() -> Option<Lack> {
    let needed = [
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
        (CapabilitySet::SETUID, "CAP_SETUID"),
        (CapabilitySet::SETGID, "CAP_SETGID"),
        (CapabilitySet::SETPCAP, "CAP_SETPCAP"),
        (CapabilitySet::CHOWN, "CAP_CHOWN"),
        (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
        (CapabilitySet::KILL, "CAP_KILL"),
    ];
    // A set that cannot be read has nothing in it.
    let have = effective_capabilities().unwrap_or(CapabilitySet::empty());
    let missing: Vec<_> =
        needed.iter().filter(|(set, _)| !have.contains(*set)).map(|(_, name)| *name).collect();
    (!missing.is_empty()).then(|| {
        let reason = format!("root has no {} here", missing.join(", "));
        let remedy = format!("start the outer container with --cap-add {}", missing.join(","));
        lack(reason, format!("{remedy}, or run as an ordinary user"))
    })
}

fn read_setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The two ways in which hosts forbid user namespaces to every program; [`Standing`] is the third.
fn no_user_namespaces(read: &dyn Fn(&str) -> Option<String>) -> Option<Lack> {
    let is = |path: &str, value: &str| read(path).as_deref() == Some(value);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        let reason = "user namespaces are switched off (user.max_user_namespaces = 0)";
        return Some(lack(reason, "sysctl -w user.max_user_namespaces=10000, as root"));
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        let reason = "only root may make user namespaces (kernel.unprivileged_userns_clone = 0)";
        return Some(lack(reason, "sysctl -w kernel.unprivileged_userns_clone=1, as root"));
    }
    None
}

fn host_memory() -> ByteSize {
    let info = rustix::system::sysinfo();
    ByteSize(info.totalram.saturating_mul(u64::from(info.mem_unit)))
}

/// `6.18.44-fc` → (6, 18)
pub(crate) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_forbid_user_namespaces_has_its_own_remedy() {
        let host = |settings: &'static [(&str, &str)]| {
            no_user_namespaces(&move |path: &str| {
                let found = settings.iter().find(|(name, _)| path.ends_with(name));
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(host(&[("max_user_namespaces", "1000")]), None);
        let off = host(&[("max_user_namespaces", "0")]).unwrap();
        assert!(off.remedy.contains("max_user_namespaces"));
        let debian = host(&[("unprivileged_userns_clone", "0")]).unwrap();
        assert!(debian.remedy.contains("unprivileged_userns_clone=1"));
    }

    #[test]
    fn versions() {
        assert_eq!(kernel_version("6.18.44-fc-v490"), Some((6, 18)));
        assert_eq!(kernel_version("5.4-rc1"), Some((5, 4)));
        assert_eq!(kernel_version("odd"), None);
        assert!(kernel_version("5.15.0").unwrap() < OLDEST_KERNEL);
    }

    #[test]
    fn what_is_lacking_is_not_promised() {
        let caps = caps();
        if caps.unusable.is_none() {
            assert!(caps.lacks.keys().all(|guarantee| !caps.enforces.contains(guarantee)));
            assert!(caps.lacks.contains_key(&Guarantee::NetworkHost));
            assert!(caps.host_memory.is_some());
        }
    }
}
