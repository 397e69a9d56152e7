//! What work costs inside a sandbox: the same command outside, which is the base, and inside.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::case::Case;
use super::place::Place;
use super::start::{NATIVE, with};
use crate::cargo::succeed;
use crate::release;

pub(crate) fn git(place: &Place) -> Result<Vec<Case>> {
    source_tree(place)?;
    let setup = "git init -q . && git add -A && \
                 git -c user.name=n -c user.email=e commit -qm first && git status --short";
    shell(place, setup)?;
    pair(place, "git status", "git status --short")
}

pub(crate) fn grep(place: &Place) -> Result<Vec<Case>> {
    source_tree(place)?;
    pair(place, "grep -r", "grep -rc nothing-like-this . > /dev/null; true")
}

pub(crate) fn python(place: &Place) -> Result<Vec<Case>> {
    write(
        &place.workspace().join("test_sums.py"),
        "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        \
         self.assertEqual(sum(i * i for i in range(2_000_000)), 2666664666667000000)\n",
    )?;
    pair(place, "python3 -m unittest", "python3 -m unittest -q")
}

/// With the toolchain of whoever runs the bench: as a user would have it.
pub(crate) fn cargo_build(place: &Place) -> Result<Vec<Case>> {
    let package = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write(&place.workspace().join("Cargo.toml"), package)?;
    let code: String = (0..200)
        .map(|n| {
            format!(
                "pub fn f{n}(x: u64) -> u64 {{ x.wrapping_mul({n}).rotate_left({}) }}\n",
                n % 64
            )
        })
        .collect();
    write(&place.workspace().join("src/lib.rs"), &code)?;
    let cases = pair(place, "cargo build", "rm -rf target; cargo build --offline --quiet")?;
    Ok(cases)
}

/// The same script, outside and inside.
fn pair(place: &Place, name: &str, script: &str) -> Result<Vec<Case>> {
    let cofferdam = release::binary()?;
    let mut outside = place.command("/bin/sh");
    outside.args(["-c", script]);
    let mut inside = with(place, &cofferdam, &[NATIVE, &["/bin/sh", "-c", script]].concat());
    own(&mut outside);
    own(&mut inside);
    Ok(vec![
        Case::command(format!("`{name}` outside"), outside),
        Case::command(format!("`{name}` inside, start included"), inside),
    ])
}

/// Toolchains are found by the user's own search path and home.
pub(super) fn own(command: &mut std::process::Command) {
    for variable in ["PATH", "HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(variable) {
            command.env(variable, value);
        }
    }
}

/// 10,000 files of text in 200 directories.
fn source_tree(place: &Place) -> Result<()> {
    let line = "a line of text that could as well be code\n";
    for dir in 0..200 {
        for file in 0..50 {
            let path = place.workspace().join(format!("d{dir}/f{file}.txt"));
            write(&path, &line.repeat(20 + file))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn shell(place: &Place, script: &str) -> Result<()> {
    let mut command = place.command("/bin/sh");
    succeed(command.args(["-c", script]))
}
