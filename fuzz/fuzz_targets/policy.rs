//! Any text as a command line: no panic, no overflow, and a verdict.

#![no_main]

use cofferdam_core::command::CommandPolicy;
use cofferdam_sandbox::shell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let policy = CommandPolicy { builtin: true, ..CommandPolicy::default() };
    let first = policy.judge(&shell::line(text));
    assert_eq!(first, policy.judge(&shell::line(text)));
});
