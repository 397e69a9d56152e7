//! Every call the filter knows, in groups, each with its verdict and the reason for it.
//!
//! Allowed calls work as ever; checked ones work unless an argument asks for something that
//! is not for a sandbox; refused ones fail with EPERM where a program should learn that it may not, and
//! with ENOSYS where it knows how to do without. A number that stands nowhere is a call that is newer
//! than this table, or so old that nobody makes it: ENOSYS too.

mod allowed;
mod checked;
mod modes;
mod numbers;
mod refused;

use rustix::io::Errno;

use super::Writes;
use super::rule::{Answer, Verdict};

/// Which call gets what.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub(super) parts: [&'static [Group]; 4],
}

/// Calls that belong together and get the same verdict.
#[derive(Debug)]
pub struct Group {
    pub name: &'static str,
    pub why: &'static str,
    pub verdict: Verdict,
    pub calls: &'static [Call],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub(super) constant: &'static str,
    pub(super) number: libc::c_long,
    /// Whether only x86-64 is said to have it, so that a test on either machine can see whether that is so.
    #[cfg(test)]
    pub(super) is_old: bool,
}

impl Table {
    /// What a number gets that stands in no group.
    pub const UNKNOWN: Verdict = Verdict::Always(Answer::Refuse(Errno::NOSYS));

    pub const fn of(writes: Writes) -> Self {
        let modes = match writes {
            Writes::Staged => modes::STAGED,
            Writes::OnHost => modes::ON_HOST,
        };
        Self { parts: [allowed::GROUPS, checked::GROUPS, modes, refused::GROUPS] }
    }

    pub fn groups(&self) -> impl Iterator<Item = &'static Group> {
        self.parts.into_iter().flatten()
    }

    pub fn verdict(&self, number: u32) -> Verdict {
        self.groups()
            .find(|group| group.calls.iter().any(|call| call.number() == number))
            .map_or(Self::UNKNOWN, |group| group.verdict)
    }
}

impl Call {
    pub fn name(&self) -> &'static str {
        self.constant.strip_prefix("SYS_").unwrap_or(self.constant)
    }

    #[expect(clippy::cast_possible_truncation, reason = "call numbers are small and not negative")]
    pub const fn number(&self) -> u32 {
        self.number.cast_unsigned() as u32
    }
}

/// A list of calls by the names of their constants; those after the semicolon are only on x86-64, where
/// the first forms of many calls live on.
macro_rules! calls {
    ($($call:ident)* $(; x86_64: $($old:ident)*)?) => {
        &[
            $($crate::seccomp::Call {
                constant: stringify!($call),
                number: $call,
                #[cfg(test)]
                is_old: false,
            },)*
            $($(
                #[cfg(target_arch = "x86_64")]
                $crate::seccomp::Call {
                    constant: stringify!($old),
                    number: $old,
                    #[cfg(test)]
                    is_old: true,
                },
            )*)?
        ]
    };
}
use calls;
