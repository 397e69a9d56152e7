//! What a container's mounts must show, by what the kernel lists of them: see proc_pid_mountinfo(5).
//!
//! An engine may leave out what was mounted below another mount, or lay something of its own over ours, and say
//! nothing of either.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::plan::Plan;

/// What the engine mounts by itself, as an overlay: where, and the layer that takes the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layered {
    pub(super) target: PathBuf,
    pub(super) upper: PathBuf,
}

/// The first thing that is not as planned, in words.
pub(super) fn difference<P: AsRef<Path>>(
    mountinfo: &[u8],
    plan: &Plan,
    hidden: &[P],
    layered: &[Layered],
) -> Option<String> {
    let mounts: Vec<Mount<'_>> =
        mountinfo.split(|byte| *byte == b'\n').filter_map(Mount::read).collect();
    let on_top = |target: &Path| {
        let target = escaped(target.as_os_str().as_bytes());
        mounts.iter().enumerate().rev().find(|(_, mount)| mount.point == target.as_slice())
    };
    // What is mounted before the workspace lies below it.
    let workspace = on_top(&plan.workspace.target).map(|(at, _)| at);
    for path in hidden {
        let cover = on_top(&plan.workspace.target.join(path)).map(|(at, _)| at);
        if cover.is_none() || cover < workspace {
            return Some(format!("{} is not hidden", path.as_ref().display()));
        }
    }
    for Layered { target, upper } in layered {
        let wanted = [b"upperdir=", upper.as_os_str().as_bytes()].concat();
        let has = |mount: &Mount<'_>| mount.options.split(|b| *b == b',').any(|o| o == wanted);
        if !on_top(target).is_some_and(|(_, mount)| has(mount)) {
            return Some(format!("{} is not kept apart by our layers", target.display()));
        }
    }
    for (target, size) in &plan.tmpfs {
        let found = on_top(target).and_then(|(_, mount)| mount.size());
        // The kernel rounds up to whole pages, of which none is larger than this.
        let fits = found.is_some_and(|found| (size.0..size.0 + (64 << 10)).contains(&found));
        if !fits {
            let found = found.map_or("no limit".to_owned(), |bytes| format!("{bytes} bytes"));
            return Some(format!("{} has {found} instead of {}", target.display(), size.0));
        }
    }
    None
}

struct Mount<'a> {
    point: &'a [u8],
    /// Of the file system itself.
    options: &'a [u8],
}

impl<'a> Mount<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        let options = line.rsplit(|byte| *byte == b' ').next()?;
        Some(Self { point, options })
    }

    /// Bytes, where it is limited.
    fn size(&self) -> Option<u64> {
        let options = std::str::from_utf8(self.options).ok()?;
        let size = options.split(',').find_map(|option| option.strip_prefix("size="))?;
        size.strip_suffix('k')?.parse::<u64>().ok()?.checked_mul(1024)
    }
}

/// A path as the kernel writes it there.
fn escaped(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for byte in path {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => out.extend(format!("\\{byte:03o}").into_bytes()),
            byte => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use cofferdam_core::quantity::ByteSize;

    use super::*;

    const INFO: &str = "36 35 98:0 / /workspace rw - x y z\n37 35 98:0 / /workspace/.env ro - x y z\n\
                        38 35 98:0 / /workspace/a\\040b ro - x y z\n\
                        39 35 0:67 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw,size=8192k\n";

    fn plan() -> Plan {
        let mut plan = crate::backend::docker::tests::plan();
        plan.tmpfs = [("/tmp".into(), ByteSize::mib(8))].into();
        plan
    }

    #[test]
    fn what_is_not_covered_is_noticed() {
        let of = |hidden: &[&str]| difference(INFO.as_bytes(), &plan(), hidden, &[]);
        assert_eq!(of(&[".env", "a b"]), None);
        assert_eq!(of(&[".env", "a b", "keys/id"]).as_deref(), Some("keys/id is not hidden"));
        // One that was mounted first, with the workspace over it, hides nothing.
        let over = format!("{INFO}40 36 98:0 / /workspace rw - x y z\n");
        let seen = difference(over.as_bytes(), &plan(), &[".env"], &[]);
        assert_eq!(seen.as_deref(), Some(".env is not hidden"));
    }

    #[test]
    fn an_overlay_of_others_is_noticed() {
        let info = INFO
            .replace("/workspace rw - x y z", "/workspace rw - overlay m rw,upperdir=/r/upper,x");
        let layered = |upper: &str| Layered { target: "/workspace".into(), upper: upper.into() };
        let of = |info: &str, upper| {
            difference::<&str>(info.as_bytes(), &plan(), &[], &[layered(upper)])
        };
        assert_eq!(of(&info, "/r/upper"), None);
        for other in ["/r/upper2", "/r", "/other"] {
            assert!(of(&info, other).is_some(), "{other}");
        }
        assert!(of(INFO, "/r/upper").is_some(), "the tree itself");
    }

    #[test]
    fn a_memory_without_its_limit_is_noticed() {
        let of = |info: &str| difference::<&str>(info.as_bytes(), &plan(), &[], &[]);
        assert_eq!(of(INFO), None);
        // One laid over ours is the one that counts.
        let over = format!("{INFO}40 39 0:68 / /tmp rw - tmpfs tmpfs rw\n");
        assert_eq!(of(&over).as_deref(), Some("/tmp has no limit instead of 8388608"));
        let larger = INFO.replace("8192k", "9000k");
        assert_eq!(of(&larger).as_deref(), Some("/tmp has 9216000 bytes instead of 8388608"));
        assert!(of("").is_some());
    }
}
