//! Go: `go.mod` and `go.work`.

use super::version::Version;
use super::{Language, Note, Part, System, Told, Tool, Tree, choose, tools, tree};

pub(super) const KNOWN: &[Version] = &[Version::line(1, 24)];

/// Modules that are bound to a C library.
const CGO: &[&str] = &[
    "github.com/mattn/go-sqlite3",
    "github.com/confluentinc/confluent-kafka-go",
    "github.com/go-gl/",
    "github.com/libgit2/git2go",
    "gocv.io/x/gocv",
    "github.com/DataDog/zstd",
    "github.com/tecbot/gorocksdb",
];

pub(super) fn find(tree: &Tree, notes: &mut Vec<Note>) -> Option<Part> {
    let dirs = tree.dirs_with(&["go.mod"]);
    let dirs = if dirs.is_empty() { tree.dirs_with(&["go.work"]) } else { dirs };
    dirs.first()?;
    let mise = tools::mise(tree);
    let mut told = Vec::new();
    for file in dirs.iter().map(|dir| tree::join(dir, "go.mod")).chain(["go.work".to_owned()]) {
        let Some(text) = tree.text(&file) else { continue };
        let (go, toolchain) = (directive(text, "go"), directive(text, "toolchain"));
        // The toolchain that is asked for is the newer of the two.
        let words = [toolchain.filter(|word| *word != "default"), go];
        told.extend(words.into_iter().flatten().map(|word| Told::new(file.clone(), word)));
    }
    told.extend(tools::told(tree, Language::Go, &mise));
    let (version, why) = choose(Language::Go, &told, KNOWN, notes);
    let (system, because) = system(tree, &dirs);
    Some(Part {
        language: Language::Go,
        version,
        tool: Tool::Go,
        tool_version: None,
        dirs,
        system,
        reasons: vec![why, because.to_owned()],
    })
}

fn directive<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']).map(str::trim))
}

fn system(tree: &Tree, dirs: &[String]) -> (System, &'static str) {
    let mods = dirs.iter().filter_map(|dir| tree.at(dir, "go.mod"));
    let is_bound = |text: &str| CGO.iter().any(|module| text.contains(module));
    if tree.imports_c {
        return (System::Debian, "Debian, as Go code imports C and wants a C compiler and glibc");
    }
    if mods.into_iter().any(is_bound) {
        return (System::Debian, "Debian, as a module is bound to a C library (cgo)");
    }
    (System::Alpine, "Alpine, as nothing needs cgo")
}
