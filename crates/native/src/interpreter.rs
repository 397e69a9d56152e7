//! What a script names in its first line: where that is missing, the kernel says of the script that it is not there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// No more of the first line counts for the kernel either.
const FIRST_LINE: u64 = 256;
/// So many directories above a script are looked into for its interpreter: a path can have thousands.
const DEPTH: usize = 32;

/// How it is told what a file that is there lacks to be executed.
pub(crate) fn missing(program: &Path) -> String {
    let Some(path) = named(program) else { return "its interpreter is not there".to_owned() };
    let lack = format!("its interpreter {path} is not there");
    match moved(Path::new(&path), program) {
        Some(here) => format!(
            "{lack}: the project has another path here; call it by name, as in `{} {} ...`",
            here.display(),
            program.display()
        ),
        None => lack,
    }
}

/// Where an interpreter is that belongs to the same project as the script, as in an environment of Python's, and is called by
/// the path that the project has elsewhere: the end of that path leads to it from a directory above the script.
fn moved(interpreter: &Path, program: &Path) -> Option<PathBuf> {
    let program = std::path::absolute(program).ok()?;
    let names: Vec<&OsStr> = interpreter.iter().skip(1).collect();
    // The name alone would be a mere namesake.
    let ends = (1..names.len().saturating_sub(1)).map(|at| names[at..].iter().collect::<PathBuf>());
    let above = program.ancestors().skip(1).take(DEPTH).filter(|dir| dir.parent().is_some());
    let above: Vec<&Path> = above.collect();
    ends.flat_map(|end| above.iter().map(move |dir| dir.join(&end))).find(|path| path.is_file())
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_interpreter_of_the_same_project_is_found_under_its_path_here() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join(".venv/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("python3"), "").unwrap();
        let moved = |interpreter: &str, script: &str| {
            moved(Path::new(interpreter), &dir.path().join(script))
        };
        let here = Some(bin.join("python3"));
        assert_eq!(moved("/home/me/project/.venv/bin/python3", ".venv/bin/pip"), here);
        assert_eq!(moved("/home/me/project/.venv/bin/python3", "tools/lint"), here);
        assert_eq!(moved("/opt/other/sbin/python3", ".venv/bin/pip"), None);
        assert_eq!(moved("/python3", ".venv/bin/pip"), None);
        assert_eq!(moved("/home/me/project/.venv/bin/python2", ".venv/bin/pip"), None);
    }
}
