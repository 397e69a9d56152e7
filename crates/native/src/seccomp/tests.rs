//! The filter against its own table, number by number, on this machine and on ARM64, and against the kernel.

mod agreement;
mod arm64;
mod interpreter;
mod kernel;
