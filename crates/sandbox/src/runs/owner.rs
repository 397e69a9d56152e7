//! Who is running a run, for the record.

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
