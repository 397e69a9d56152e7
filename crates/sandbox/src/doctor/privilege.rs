//! What the caller may do. Root without the capabilities of root is the common trap of containers.

use std::fs;

use super::Place;
use super::check::{Check, Question};

const PRIVILEGES: Question = Question::new("process.privileges", "privileges");

/// Bit of CAP_SYS_ADMIN in a capability set (capabilities(7)): mounts and namespaces need it.
const CAP_SYS_ADMIN: u64 = 1 << 21;

pub(super) fn examine(place: &Place) -> Check {
    match fs::read_to_string("/proc/self/status") {
        Ok(status) => judge(place.engines.uid, effective(&status)),
        Err(error) => PRIVILEGES
            .fail(format!("/proc/self/status: {error}"), "mount /proc where this program runs"),
    }
}

fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn judge(uid: u32, effective: Option<u64>) -> Check {
    match (uid, effective) {
        (1.., _) => PRIVILEGES.ok(format!("user {uid}: sandboxes are made in a user namespace")),
        (0, Some(caps)) if caps & CAP_SYS_ADMIN != 0 => {
            PRIVILEGES.ok("root: the program in the sandbox gets another user")
        }
        (0, Some(_)) => PRIVILEGES.fail(
            "root without CAP_SYS_ADMIN, as in a container: nothing can be mounted",
            "run as an ordinary user, or give the container CAP_SYS_ADMIN",
        ),
        (0, None) => PRIVILEGES.fail(
            "/proc/self/status names no effective capabilities",
            "use a kernel that reports CapEff, or run as an ordinary user",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn the_effective_set_is_read() {
        let status = "Name:\ta\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n";
        assert_eq!(effective(status), Some(0x1ff_ffff_ffff));
        assert_eq!(effective("Name:\ta\n"), None);
        assert_eq!(effective("CapEff:\txyz\n"), None);
    }

    #[test]
    fn root_needs_the_capability_and_others_do_not() {
        assert_eq!(judge(0, Some(0x1ff_ffff_ffff)).status, Status::Ok);
        // What a container engine leaves to root by default.
        assert_eq!(judge(0, Some(0xa804_25fb)).status, Status::Fail);
        assert_eq!(judge(0, None).status, Status::Fail);
        assert_eq!(judge(1000, Some(0)).status, Status::Ok);
    }
}
