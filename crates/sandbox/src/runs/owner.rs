//! Who is running a run, so that a later process can tell whether it still is.

use std::fs;

use cofferdam_core::record::Owner;
use cofferdam_native::descendants::start_ticks;

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

pub(crate) fn current_owner() -> Owner {
    let pid = std::process::id();
    Owner { pid, start_ticks: start_ticks(pid).unwrap_or(0), boot_id: boot_id() }
}

/// Whether that very process still lives: the pid alone may be another's by now.
pub(crate) fn is_alive(owner: &Owner) -> bool {
    owner.boot_id == boot_id() && start_ticks(owner.pid) == Some(owner.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recycled_pid_or_another_boot_is_not_the_owner() {
        let me = current_owner();
        assert!(is_alive(&me));
        assert!(!is_alive(&Owner { start_ticks: me.start_ticks + 1, ..me.clone() }));
        assert!(!is_alive(&Owner { boot_id: "other".into(), ..me }));
    }
}
