//! Which kernel this host runs.

/// As `uname -r` says; `None` where the kernel does not.
pub fn kernel_release() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(text.trim().to_owned()).filter(|release| !release.is_empty())
}
