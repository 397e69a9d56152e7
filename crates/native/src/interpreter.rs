//! What a script names in its first line: where that is missing, the kernel says of the script that it is not there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// No more of the first line counts for the kernel either.
const FIRST_LINE: u64 = 256;

/// How it is told what a file that is there lacks to be executed.
pub(crate) fn missing(program: &Path) -> String {
    match named(program) {
        Some(path) => format!("its interpreter {path} is not there"),
        None => "its interpreter is not there".to_owned(),
    }
}

/// The same of a program that was not found, where it is there all the same. A name without a slash was looked for elsewhere.
pub(crate) fn lacking(program: &OsStr, workdir: &Path) -> Option<String> {
    let path = workdir.join(program);
    let is_there = program.as_encoded_bytes().contains(&b'/') && path.exists();
    is_there.then(|| missing(&path))
}

fn named(program: &Path) -> Option<String> {
    let mut head = Vec::new();
    // Something else may stand there by now, and nobody waits for whoever would write to a pipe.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(program).ok()?;
    file.take(FIRST_LINE).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    line.split_ascii_whitespace().next().map(str::to_owned)
}
