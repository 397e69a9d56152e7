//! What may not stand in which file.

use crate::code::{code_only, taken_from, without_tests, words};

#[derive(Debug)]
pub(crate) struct File {
    /// From the workspace root.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

/// Libraries: they print nothing.
const LIBRARIES: &[&str] = &[
    "crates/core/src/",
    "crates/fuzz/src/",
    "crates/native/src/",
    "crates/sandbox/src/",
    "crates/server/src/",
    "crates/testkit/src/",
];

/// Rooms that get the environment as values.
const NO_ENVIRONMENT: &[&str] = &["crates/core/src/", "crates/native/src/", "crates/sandbox/src/"];

/// Files in them that use `std::env` after all, and why.
const ENVIRONMENT_USERS: &[(&str, &str)] = &[];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "helpers", "common", "manager"];

/// What the sandbox crate may take from rustix: safe file calls, the types they speak in, and `event` to wait
/// for several descriptors at once.
const SANDBOX_RUSTIX: &[&str] = &["event", "fs", "io", "fd", "path"];

/// Written in two parts, so that this file keeps its own rule.
const MACHINE_PATH: &str = concat!("/wo", "rk/");

pub(crate) fn violations(files: &[File]) -> Vec<String> {
    let mut found = stale(ENVIRONMENT_USERS, files);
    for file in files {
        found.extend(empty_name(&file.path));
        found.extend(machine_path(file));
        let Ok(source) = std::str::from_utf8(&file.bytes) else { continue };
        if file.path.ends_with(".rs") {
            let source = Source::new(&file.path, source);
            found.extend(unsafe_outside_sys(&source));
            found.extend(environment(&source, ENVIRONMENT_USERS));
            found.extend(printing(&source));
            found.extend(rustix_in_sandbox(&source));
            found.extend(ignored_without_reason(&source));
        }
    }
    found
}

/// A Rust file, with the views of it that the rules look at.
struct Source<'a> {
    path: &'a str,
    text: &'a str,
    code: String,
    /// Code that users get.
    shipped: String,
}

impl<'a> Source<'a> {
    fn new(path: &'a str, text: &'a str) -> Self {
        let code = code_only(text);
        // Files of tests, declared under `#[cfg(test)]` by their neighbour.
        let of_tests = path.ends_with("/tests.rs") || path.contains("/tests/");
        let shipped = if of_tests { String::new() } else { without_tests(&code) };
        Self { path, text, code, shipped }
    }

    fn at(&self, offset: usize, problem: &str) -> String {
        at(self.path, self.text.as_bytes(), offset, problem)
    }

    fn lies_in(&self, dirs: &[&str]) -> bool {
        dirs.iter().any(|dir| self.path.starts_with(dir))
    }
}

fn at(path: &str, bytes: &[u8], offset: usize, problem: &str) -> String {
    let line = 1 + bytes[..offset].iter().filter(|&&byte| byte == b'\n').count();
    format!("{path}:{line}: {problem}")
}

fn unsafe_outside_sys(source: &Source<'_>) -> Vec<String> {
    if source.lies_in(&["crates/native/src/sys.rs", "crates/native/src/sys/"]) {
        return Vec::new();
    }
    let problem = "unsafe code belongs into crates/native/src/sys.rs";
    words(&source.code, "unsafe").into_iter().map(|offset| source.at(offset, problem)).collect()
}

fn environment(source: &Source<'_>, users: &[(&str, &str)]) -> Vec<String> {
    if !source.lies_in(NO_ENVIRONMENT) || users.iter().any(|(path, _)| *path == source.path) {
        return Vec::new();
    }
    let problem = "the caller reads the environment and hands it in";
    taken_from(&source.shipped, "std")
        .into_iter()
        .filter(|(_, name)| *name == "env")
        .map(|(offset, _)| source.at(offset, problem))
        .collect()
}

/// Exceptions that nothing needs any more.
fn stale(users: &[(&str, &str)], files: &[File]) -> Vec<String> {
    let needed = |path: &str| {
        files.iter().filter(|file| file.path == path).any(|file| {
            let source = Source::new(path, std::str::from_utf8(&file.bytes).unwrap_or_default());
            !environment(&source, &[]).is_empty()
        })
    };
    let unneeded = users.iter().filter(|(path, _)| !needed(path));
    unneeded.map(|(path, _)| format!("{path}: needs no exception for std::env")).collect()
}

fn printing(source: &Source<'_>) -> Vec<String> {
    if !source.lies_in(LIBRARIES) {
        return Vec::new();
    }
    let code = &source.shipped;
    ["print", "println", "eprint", "eprintln", "dbg"]
        .iter()
        .flat_map(|name| words(code, name).into_iter().map(move |offset| (offset, name)))
        .filter(|(offset, name)| code[offset + name.len()..].starts_with('!'))
        .map(|(offset, name)| source.at(offset, &format!("a library does not use {name}!")))
        .collect()
}

fn rustix_in_sandbox(source: &Source<'_>) -> Vec<String> {
    if !source.lies_in(&["crates/sandbox/src/"]) {
        return Vec::new();
    }
    taken_from(&source.shipped, "rustix")
        .into_iter()
        .filter(|(_, name)| !SANDBOX_RUSTIX.contains(name))
        .map(|(offset, name)| {
            source
                .at(offset, &format!("rustix::{name} is for native; here only {SANDBOX_RUSTIX:?}"))
        })
        .collect()
}

fn ignored_without_reason(source: &Source<'_>) -> Vec<String> {
    words(&source.code, "ignore")
        .into_iter()
        .filter(|&offset| in_attribute(&source.code[..offset]))
        .filter(|&offset| {
            let after = source.text[offset + "ignore".len()..].trim_start();
            let reason = after.strip_prefix('=').map(str::trim_start);
            let reason = reason.and_then(|text| text.strip_prefix('"')?.split('"').next());
            reason.is_none_or(|reason| reason.trim().is_empty())
        })
        .map(|offset| source.at(offset, "an ignored test says why: #[ignore = \"…\"]"))
        .collect()
}

/// Whether an attribute is still open at the end of `before`.
fn in_attribute(before: &str) -> bool {
    let Some(open) = before.rfind("#[").or_else(|| before.rfind("#![")) else { return false };
    let count = |bracket| before[open..].matches(bracket).count();
    count('[') > count(']')
}

fn empty_name(path: &str) -> Option<String> {
    let mut names = path.split('/').map(|name| name.strip_suffix(".rs").unwrap_or(name));
    let name = names.find(|name| EMPTY_NAMES.contains(name))?;
    Some(format!("{path}: {name} says nothing; name it by the noun of what is in it"))
}

/// A path of the machine it was written on. Only where it begins a path: an overlay has a `work` too.
fn machine_path(file: &File) -> Vec<String> {
    let needle = MACHINE_PATH.as_bytes();
    let starts = |offset: usize| {
        let before = offset.checked_sub(1).map(|at| file.bytes[at]);
        before.is_none_or(|byte| !(byte.is_ascii_alphanumeric() || b"_-.}/)*>".contains(&byte)))
    };
    file.bytes
        .windows(needle.len())
        .enumerate()
        .filter(|(offset, part)| *part == needle && starts(*offset))
        .map(|(offset, _)| at(&file.path, &file.bytes, offset, "a path of somebody's machine"))
        .collect()
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
