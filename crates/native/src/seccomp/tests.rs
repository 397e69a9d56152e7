//! The filter against its own table, number by number, and against the kernel.

mod agreement;
mod interpreter;
mod kernel;
