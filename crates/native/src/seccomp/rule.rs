//! What the filter answers, and the questions about arguments that an answer may depend on.
//!
//! Only the low half of an argument is looked at. That is no gap but the point: each argument asked
//! about here is an `int`, an `unsigned` or a mode in the kernel, which cuts the register before it
//! looks; a check of all 64 bits could be passed by setting a high one.

use rustix::io::Errno;

/// What a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Allow,
    Refuse(Errno),
    /// The whole process dies.
    Kill,
}

/// What is known from the number of a call alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Always(Answer),
    Depends(&'static Rule),
}

/// The first clause that holds answers.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    pub clauses: &'static [Clause],
    pub otherwise: Answer,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Clause {
    /// All of them must hold.
    pub when: &'static [Test],
    pub then: Answer,
}

/// A question about the low half of argument `arg`, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// At least one of these bits is set.
    AnyBit { arg: u32, bits: u32 },
    /// Under the mask, it is one of these.
    OneOf { arg: u32, mask: u32, values: &'static [u32] },
    /// Under the mask, it is none of these.
    NoneOf { arg: u32, mask: u32, values: &'static [u32] },
}

impl Answer {
    /// As a filter returns it.
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Refuse(errno) => libc::SECCOMP_RET_ERRNO | errno.raw_os_error().cast_unsigned(),
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

impl Verdict {
    /// What a call with these arguments gets.
    pub fn answer(self, args: [u64; 6]) -> Answer {
        match self {
            Self::Always(answer) => answer,
            Self::Depends(rule) => rule
                .clauses
                .iter()
                .find(|clause| clause.when.iter().all(|test| test.holds(args)))
                .map_or(rule.otherwise, |clause| clause.then),
        }
    }
}

impl Test {
    fn holds(self, args: [u64; 6]) -> bool {
        match self {
            Self::AnyBit { arg, bits } => low_half(args, arg) & bits != 0,
            Self::OneOf { arg, mask, values } => values.contains(&(low_half(args, arg) & mask)),
            Self::NoneOf { arg, mask, values } => !values.contains(&(low_half(args, arg) & mask)),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel cuts these arguments the same way")]
fn low_half(args: [u64; 6], arg: u32) -> u32 {
    args[arg as usize] as u32
}
