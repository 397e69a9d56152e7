//! Call numbers: libc's, and those that it does not name on every target. From 424 on a call has the
//! same number on all architectures.

#![expect(non_upper_case_globals, reason = "named as libc names its own")]

use libc::c_long;
pub(super) use libc::*;

#[cfg(target_arch = "aarch64")]
pub(super) const SYS_renameat: c_long = 38;
#[cfg(target_arch = "aarch64")]
pub(super) const SYS_sync_file_range: c_long = 84;
#[cfg(target_arch = "aarch64")]
pub(super) const SYS_getrlimit: c_long = 163;
#[cfg(target_arch = "aarch64")]
pub(super) const SYS_setrlimit: c_long = 164;
#[cfg(target_arch = "aarch64")]
pub(super) const SYS_kexec_file_load: c_long = 294;
pub(super) const SYS_cachestat: c_long = 451;
pub(super) const SYS_fchmodat2: c_long = 452;
pub(super) const SYS_map_shadow_stack: c_long = 453;
pub(super) const SYS_futex_wake: c_long = 454;
pub(super) const SYS_futex_wait: c_long = 455;
pub(super) const SYS_futex_requeue: c_long = 456;
pub(super) const SYS_mseal: c_long = 462;
pub(super) const SYS_setxattrat: c_long = 463;
pub(super) const SYS_getxattrat: c_long = 464;
pub(super) const SYS_listxattrat: c_long = 465;
pub(super) const SYS_removexattrat: c_long = 466;
pub(super) const SYS_open_tree_attr: c_long = 467;
