//! How much memory the host has.

use cofferdam_core::quantity::ByteSize;

/// The upper bound of a memory limit; `None` where the kernel does not say.
pub fn total_memory() -> Option<ByteSize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(ByteSize(kib * ByteSize::KIB))
}
