//! Who is running a run, for the record and for the mark.

use std::fs;

use cofferdam_core::backend::Backend;
use cofferdam_core::record::Owner;
use cofferdam_core::stamp::Stamp;
use cofferdam_native::descendants::start_ticks;
use serde::{Deserialize, Serialize};

/// What the mark of a run that goes on says: enough to clean up after it, and with its plan as much as is
/// known before it ends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) owner: Owner,
    pub(crate) actor: String,
    pub(crate) started_at: Stamp,
    /// What carries it out; absent where nothing is to be run.
    pub(crate) backend: Option<Backend>,
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

pub(crate) fn current_owner() -> Owner {
    let pid = std::process::id();
    Owner { pid, start_ticks: start_ticks(pid).unwrap_or(0), boot_id: boot_id() }
}

/// Whether that very process is seen to run: the pid alone may be another's by now. From another pid
/// namespace it cannot be seen; only the lock on a run's mark proves that its owner is gone.
pub(crate) fn is_running(owner: &Owner) -> bool {
    owner.boot_id == boot_id() && start_ticks(owner.pid) == Some(owner.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recycled_pid_or_another_boot_is_not_the_owner() {
        let me = current_owner();
        assert!(is_running(&me));
        assert!(!is_running(&Owner { start_ticks: me.start_ticks + 1, ..me.clone() }));
        assert!(!is_running(&Owner { boot_id: "other".into(), ..me }));
    }
}
