//! A filter as the kernel takes it, and the assembler that writes one.
//!
//! BPF jumps only forward, and a conditional jump reaches 255 instructions. So a program is written
//! from its end to its start: whatever is jumped to already has its place, and where that is too far
//! away, a relay is put in between.

use libc::sock_filter;

use super::rule::{Answer, Rule, Test};

/// A compiled filter.
#[derive(Debug)]
pub struct Program {
    instructions: Vec<sock_filter>,
}

impl Program {
    pub fn instructions(&self) -> &[sock_filter] {
        &self.instructions
    }
}

/// The calling convention that call numbers are meant in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    #[cfg(target_arch = "x86_64")]
    pub const HERE: Self = Self::X86_64;
    #[cfg(target_arch = "aarch64")]
    pub const HERE: Self = Self::Aarch64;

    /// As `linux/audit.h` names it: the ELF machine, 64 bits wide, little-endian.
    pub(super) const fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }
}

/// An instruction to jump to, counted from the program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(usize);

/// A comparison that a conditional jump makes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Compare {
    Equal,
    AtLeast,
    AnyBit,
}

/// A word of `struct seccomp_data`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Word {
    Number,
    Arch,
    /// The low half of an argument.
    Argument(u32),
}

#[derive(Debug, Default)]
pub(super) struct Assembler {
    backwards: Vec<sock_filter>,
    answers: Vec<(Answer, Place)>,
    /// The newest instruction that stands for an older one.
    relays: Vec<(Place, Place)>,
}

impl Assembler {
    pub(super) fn finish(mut self) -> Program {
        self.backwards.reverse();
        Program { instructions: self.backwards }
    }

    pub(super) fn answer(&mut self, answer: Answer) -> Place {
        if let Some((_, place)) = self.answers.iter().find(|(known, _)| *known == answer) {
            return *place;
        }
        let place = self.push(libc::BPF_RET | libc::BPF_K, answer.code());
        self.answers.push((answer, place));
        place
    }

    /// Loads a word for the comparisons that begin at `next`.
    pub(super) fn load(&mut self, word: Word, next: Place) -> Place {
        self.fall_into(next);
        let offset = match word {
            Word::Number => 0,
            Word::Arch => 4,
            Word::Argument(index) => 16 + 8 * index,
        };
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
    }

    pub(super) fn branch(&mut self, compare: Compare, k: u32, yes: Place, no: Place) -> Place {
        let compare = match compare {
            Compare::Equal => libc::BPF_JEQ,
            Compare::AtLeast => libc::BPF_JGE,
            Compare::AnyBit => libc::BPF_JSET,
        };
        let code = opcode(libc::BPF_JMP | compare | libc::BPF_K);
        loop {
            match (self.distance(yes), self.distance(no)) {
                (Some(jt), Some(jf)) => return self.place(sock_filter { code, jt, jf, k }),
                (None, _) => self.relay(yes),
                (_, None) => self.relay(no),
            }
        }
    }

    /// Asks about the arguments, clause by clause.
    pub(super) fn rule(&mut self, rule: &Rule) -> Place {
        let mut next = self.answer(rule.otherwise);
        for clause in rule.clauses.iter().rev() {
            let mut then = self.answer(clause.then);
            for test in clause.when.iter().rev() {
                then = self.test(*test, then, next);
            }
            next = then;
        }
        next
    }

    fn test(&mut self, test: Test, yes: Place, no: Place) -> Place {
        match test {
            Test::AnyBit { arg, bits } => {
                let asked = self.branch(Compare::AnyBit, bits, yes, no);
                self.load(Word::Argument(arg), asked)
            }
            Test::OneOf { arg, mask, values } => self.among(arg, mask, values, yes, no),
            Test::NoneOf { arg, mask, values } => self.among(arg, mask, values, no, yes),
        }
    }

    fn among(&mut self, arg: u32, mask: u32, values: &[u32], hit: Place, miss: Place) -> Place {
        let mut next = miss;
        for value in values.iter().rev() {
            next = self.branch(Compare::Equal, *value, hit, next);
        }
        if mask != u32::MAX {
            self.fall_into(next);
            next = self.push(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask);
        }
        self.load(Word::Argument(arg), next)
    }

    /// How far the next instruction would have to jump, if it can jump that far.
    fn distance(&self, to: Place) -> Option<u8> {
        u8::try_from(self.backwards.len() - self.nearest(to).0 - 1).ok()
    }

    fn nearest(&self, to: Place) -> Place {
        self.relays.iter().rev().find(|(far, _)| *far == to).map_or(to, |(_, near)| *near)
    }

    /// Puts an instruction here that does what the one at `to` does: the same return, or a jump there.
    fn relay(&mut self, to: Place) {
        let there = self.backwards[to.0];
        let here = if there.code == opcode(libc::BPF_RET | libc::BPF_K) {
            self.place(there)
        } else {
            let distance = self.backwards.len() - to.0 - 1;
            // The kernel refuses a program with a jump past its end.
            let distance = u32::try_from(distance).unwrap_or(u32::MAX);
            self.push(libc::BPF_JMP | libc::BPF_JA, distance)
        };
        self.relays.push((to, here));
    }

    /// Sees to it that what is placed now is followed by `next`.
    fn fall_into(&mut self, next: Place) {
        if next.0 + 1 != self.backwards.len() {
            self.relay(next);
        }
    }

    fn push(&mut self, code: u32, k: u32) -> Place {
        self.place(sock_filter { code: opcode(code), jt: 0, jf: 0, k })
    }

    fn place(&mut self, instruction: sock_filter) -> Place {
        self.backwards.push(instruction);
        Place(self.backwards.len() - 1)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "operation codes have eight bits")]
const fn opcode(code: u32) -> u16 {
    code as u16
}
