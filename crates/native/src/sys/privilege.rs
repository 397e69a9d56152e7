//! Giving up privileges for good. What is dropped here cannot be had back by any later call.

use cofferdam_core::weaken::{Weakness, weakened};
use std::io;

use rustix::process::{Gid, Resource, Rlimit, Uid, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    set_capabilities, set_capabilities_secure_bits, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use super::SysError;

/// Empties the set of capabilities that any program started from here could ever have.
pub(crate) fn drop_bounding_set() -> Result<(), SysError> {
    if weakened(Weakness::BoundingSet) {
        return Ok(());
    }
    for capability in 0..64 {
        // SAFETY: takes a number and changes only what this process may have.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0 {
            continue;
        }
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            // The first number past the last capability that this kernel knows.
            Some(libc::EINVAL) if capability > 0 => Ok(()),
            _ => Err(SysError::on("prctl (bounding set)", capability, error)),
        };
    }
    Ok(())
}

/// Being uid 0 gives no capabilities from here on, and nothing can change that.
pub(crate) fn lock_secure_bits() -> Result<(), SysError> {
    // SECBIT_NO_CAP_AMBIENT_RAISE and its lock, newer than the names in the library.
    const NO_AMBIENT: u32 = (1 << 6) | (1 << 7);
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::from_bits_retain(NO_AMBIENT);
    set_capabilities_secure_bits(bits).map_err(|e| SysError::new("prctl (securebits)", e))
}

/// Becomes another user, in no other group than that user's.
pub(crate) fn become_user(uid: u32, gid: u32) -> Result<(), SysError> {
    if weakened(Weakness::Identity) {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[]).map_err(|e| SysError::new("setgroups", e))?;
    set_thread_res_gid(gid, gid, gid).map_err(|e| SysError::on("setresgid", gid.as_raw(), e))?;
    set_thread_res_uid(uid, uid, uid).map_err(|e| SysError::on("setresuid", uid.as_raw(), e))
}

pub(crate) fn drop_capabilities() -> Result<(), SysError> {
    if weakened(Weakness::Capabilities) {
        return Ok(());
    }
    clear_ambient_capability_set().map_err(|e| SysError::new("prctl (ambient set)", e))?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).map_err(|e| SysError::new("capset", e))
}

/// A crash leaves no picture of memory anywhere on the host.
pub(crate) fn no_core_dumps() -> Result<(), SysError> {
    if weakened(Weakness::CoreLimit) {
        return Ok(());
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .map_err(|e| SysError::new("setrlimit (core)", e))
}

/// The capabilities that this process can use.
pub(crate) fn effective_capabilities() -> Result<CapabilitySet, SysError> {
    rustix::thread::capabilities(None)
        .map(|sets| sets.effective)
        .map_err(|e| SysError::new("capget", e))
}
