//! The two filters on top of the namespaces: seccomp and Landlock.

use cofferdam_native::probe;

use super::check::{Check, Question};

const SECCOMP: Question = Question::new("seccomp.filter", "system call filters");
const LANDLOCK: Question = Question::new("landlock.abi", "Landlock");

pub(super) fn examine() -> [Check; 2] {
    let seccomp = if probe::seccomp_filters() { Seccomp::Filters } else { Seccomp::Absent };
    judge(seccomp, probe::landlock_abi())
}

#[derive(Debug, Clone, Copy)]
enum Seccomp {
    Filters,
    Absent,
}

fn judge(seccomp: Seccomp, landlock_abi: u32) -> [Check; 2] {
    let seccomp = match seccomp {
        Seccomp::Filters => SECCOMP.ok("the kernel takes filters"),
        Seccomp::Absent => SECCOMP
            .fail("the kernel takes no filters", "use a kernel built with CONFIG_SECCOMP_FILTER"),
    };
    let landlock = match landlock_abi {
        0 => LANDLOCK.warn(
            "not there",
            "use Linux 5.13 or newer with `landlock` in its lsm= list; or give it up by name with \
             --relax landlock",
        ),
        1 => LANDLOCK.warn(
            "ABI 1: a rename from one directory to another fails inside",
            "use Linux 5.19 or newer",
        ),
        abi => LANDLOCK.ok(format!("ABI {abi}")),
    };
    [seccomp, landlock]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn no_seccomp_fails_and_no_landlock_warns() {
        let statuses = |seccomp, abi| judge(seccomp, abi).map(|check| check.status);
        assert_eq!(statuses(Seccomp::Filters, 7), [Status::Ok, Status::Ok]);
        assert_eq!(statuses(Seccomp::Absent, 0), [Status::Fail, Status::Warn]);
        assert_eq!(statuses(Seccomp::Filters, 1), [Status::Ok, Status::Warn]);
    }
}
