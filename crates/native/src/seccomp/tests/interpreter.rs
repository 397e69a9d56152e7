//! Runs a filter as `linux/filter.h` describes it, written without a look at the assembler.

use libc::sock_filter;

/// What the kernel shows to a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) number: u32,
    pub(super) arch: u32,
    pub(super) args: [u64; 6],
}

impl Seen {
    fn word(&self, offset: u32) -> u32 {
        let mut bytes = Vec::from(self.number.to_le_bytes());
        bytes.extend(self.arch.to_le_bytes());
        // The instruction pointer.
        bytes.extend([0xEE; 8]);
        bytes.extend(self.args.iter().flat_map(|arg| arg.to_le_bytes()));
        let at = usize::try_from(offset).unwrap();
        assert!(offset.is_multiple_of(4), "the kernel refuses unaligned loads");
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }
}

/// What the filter returns, and how many instructions that took.
pub(super) fn run(program: &[sock_filter], seen: Seen) -> (u32, usize) {
    let mut accumulator = 0_u32;
    let mut at = 0_usize;
    let mut steps = 0;
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        steps += 1;
        at += 1;
        let jump = |taken: bool| usize::from(if taken { jt } else { jf });
        match code {
            // ld [k]
            0x20 => accumulator = seen.word(k),
            // and #k
            0x54 => accumulator &= k,
            // ja
            0x05 => at += usize::try_from(k).unwrap(),
            // jeq, jge, jset
            0x15 => at += jump(accumulator == k),
            0x35 => at += jump(accumulator >= k),
            0x45 => at += jump(accumulator & k != 0),
            // ret #k
            0x06 => return (k, steps),
            other => panic!("the assembler has no business with operation {other:#x}"),
        }
    }
}
