//! `docs/cli-reference.md` is what `--help` says. `COFFERDAM_BLESS=1` writes it anew.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["run"],
    &["step"],
    &["shell"],
    &["session"],
    &["session", "start"],
    &["session", "exec"],
    &["session", "ls"],
    &["session", "jobs"],
    &["session", "output"],
    &["session", "kill"],
    &["session", "checkpoint"],
    &["session", "rollback"],
    &["session", "stop"],
    &["mcp"],
    &["serve"],
    &["runner"],
    &["task"],
    &["task", "create"],
    &["task", "ls"],
    &["task", "show"],
    &["task", "logs"],
    &["task", "dispatch"],
    &["task", "cancel"],
    &["task", "retry"],
    &["task", "changes"],
    &["task", "diff"],
    &["task", "apply"],
    &["task", "discard"],
    &["task", "undo"],
    &["task", "artifacts"],
    &["task", "audit"],
    &["project"],
    &["project", "create"],
    &["project", "ls"],
    &["project", "show"],
    &["workflow"],
    &["workflow", "create"],
    &["workflow", "templates"],
    &["workflow", "start"],
    &["workflow", "ls"],
    &["workflow", "show"],
    &["workflow", "pause"],
    &["workflow", "resume"],
    &["workflow", "abort"],
    &["approval"],
    &["approval", "ls"],
    &["approval", "approve"],
    &["approval", "reject"],
    &["token"],
    &["token", "create"],
    &["token", "ls"],
    &["token", "revoke"],
    &["loop"],
    &["loop", "report"],
    &["loop", "ls"],
    &["runs"],
    &["show"],
    &["logs"],
    &["diff"],
    &["review"],
    &["gate"],
    &["apply"],
    &["discard"],
    &["undo"],
    &["check"],
    &["policy"],
    &["policy", "explain"],
    &["policy", "rules"],
    &["events"],
    &["audit"],
    &["audit", "verify"],
    &["audit", "export"],
    &["audit", "head"],
    &["config"],
    &["config", "show"],
    &["config", "check"],
    &["config", "schema"],
    &["config", "reference"],
    &["trust"],
    &["doctor"],
    &["attack"],
    &["gc"],
    &["init"],
    &["image"],
    &["image", "build"],
    &["image", "ls"],
    &["image", "prune"],
    &["image", "check"],
    &["image", "scan"],
    &["completions"],
];

fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cofferdam"))
        .args(command)
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn cli_reference_is_up_to_date() {
    let mut page = String::from(
        "# Command line\n\nWhat `--help` says, for reading; made by `cargo xtask bless`.\n",
    );
    for command in COMMANDS {
        let name = ["cofferdam"].iter().chain(*command).copied().collect::<Vec<_>>().join(" ");
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", help(command).trim()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli-reference.md");
    if std::env::var_os("COFFERDAM_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/cli-reference.md is not what --help says; run `cargo xtask bless`"
    );
}

/// A command with all below it, as far as its help lists them.
fn walk(command: &[String], see: &mut impl FnMut(&[&str], &str)) {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let text = help(&words);
    see(&words, &text);
    let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    // What stands deeper goes on with the line above.
    let names = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        if name != "help" {
            walk(&[command, &[name.to_owned()]].concat(), see);
        }
    }
}

#[test]
fn every_command_is_in_the_reference() {
    let mut seen = 0;
    walk(&[], &mut |command, _| {
        seen += 1;
        assert!(COMMANDS.contains(&command), "{command:?}");
    });
    assert_eq!(seen, COMMANDS.len(), "one is listed that is not there");
}

#[test]
fn every_command_shows_how_it_is_typed() {
    let mut without = Vec::new();
    walk(&[], &mut |command, text| {
        let start = ["cofferdam"].iter().chain(command).copied().collect::<Vec<_>>().join(" ");
        let examples = text.lines().skip_while(|line| *line != "Examples:");
        if !examples.into_iter().any(|line| line.contains(&start)) {
            without.push(start);
        }
    });
    assert!(without.is_empty(), "no examples: {without:#?}");
}
