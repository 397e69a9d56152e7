//! Where the program that is given out begins, before the C library does: `xtask/src/release.rs` has it linked so.
//!
//! It may lie anywhere in memory, so that a C library without a linker of its own first writes addresses into two hundred
//! pages of constants, and each page is a fault of its own. Asked for at once, they cost half. A kernel that
//! knows no such question (before 5.14) says no, and the faults come one by one.

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    // Of its own, so that it is left out where nothing begins with it.
    ".pushsection .text.cofferdam_entry, \"ax\", @progbits",
    ".globl cofferdam_entry",
    ".hidden __ehdr_start",
    ".hidden _end",
    "cofferdam_entry:",
    // The first segment that can be written to, in the table of segments: e_phoff, e_phnum.
    "lea rax, [rip + __ehdr_start]",
    "mov rdi, [rax + 32]",
    "movzx ecx, word ptr [rax + 56]",
    "add rdi, rax",
    "2:",
    "cmp dword ptr [rdi], {load}",
    "jne 3f",
    "test dword ptr [rdi + 4], {writable}",
    "jnz 4f",
    "3:",
    "add rdi, 56",
    "dec ecx",
    "jnz 2b",
    "jmp 5f",
    // From its p_vaddr to the end of the program, whole pages.
    "4:",
    "mov rdi, [rdi + 16]",
    "add rdi, rax",
    "and rdi, -4096",
    "lea rsi, [rip + _end]",
    "sub rsi, rdi",
    "mov edx, {populate_write}",
    "mov eax, {madvise}",
    "syscall",
    // As the kernel left it: nothing is to be called at the end.
    "5:",
    "xor edx, edx",
    "jmp _start",
    ".popsection",
    load = const libc::PT_LOAD,
    writable = const libc::PF_W,
    populate_write = const libc::MADV_POPULATE_WRITE,
    madvise = const libc::SYS_madvise,
);
