use super::*;
use crate::changes::{ChangePath, Content, ContentHash, FileNode};

fn file(mode: u32) -> Option<Node> {
    let content = Content::Kept(ContentHash::of(b"x"));
    Some(Node::File(FileNode { mode: mode.into(), size: 1, content, link: None }))
}

fn directory() -> Option<Node> {
    Some(Node::Directory { mode: 0o755.into() })
}

fn link(target: &str) -> Option<Node> {
    Some(Node::Symlink { target: target.into() })
}

fn classes(path: &str, before: Option<Node>, after: Option<Node>) -> Vec<Class> {
    let entry = Entry::between(ChangePath::new(path).unwrap(), before, after).unwrap();
    classify(&entry).into_iter().map(|found| found.class).collect()
}

fn of_file(path: &str) -> Vec<Class> {
    classes(path, None, file(0o644))
}

#[test]
fn every_row_matches_its_examples_and_its_class_not_the_others() {
    for row in table::rows() {
        assert!(!row.examples.is_empty(), "{}", row.pattern);
        let nested = row.pattern.split('}').any(|part| part.matches('{').count() > 1);
        assert!(!nested, "{}: choices are spelled out one after the other", row.pattern);
        assert_eq!(row.pattern, row.pattern.to_lowercase(), "compared with what is folded");
        for path in row.examples {
            let entry = Entry::between(ChangePath::new(*path).unwrap(), None, file(0o644)).unwrap();
            let found = table::memberships(&entry);
            let own = found.iter().find(|found| found.class == row.class);
            assert!(own.is_some(), "{path:?} is not {} by {}", row.class, row.pattern);
            assert_eq!(own.unwrap().reason, row.reason(), "{path:?} by {}", row.pattern);
            let below = format!("any/depth/{path}");
            assert!(of_file(&below).contains(&row.class), "{below:?} by {}", row.pattern);
        }
        for path in row.others {
            assert!(
                !of_file(path).contains(&row.class),
                "{path:?} is {} by {}",
                row.class,
                row.pattern
            );
        }
    }
}

#[test]
fn ordinary_files_are_in_no_class() {
    for path in [
        "src/main.rs",
        "README.md",
        "docs/usage/run.md",
        "Cargo.lock",
        "package-lock.json",
        "uv.lock",
        "go.sum",
        "LICENSE",
        ".gitignore",
        ".editorconfig",
        ".dockerignore",
        "tests/test_app.py",
        "index.html",
        "src/hooks/useX.ts",
        "src/components/Head/index.tsx",
        "data/config.json",
        "scripts/readme.txt",
        "environment.rs",
        "include/git.h",
        "a.b/c d/e\u{301}.txt",
    ] {
        assert_eq!(of_file(path), [], "{path}");
    }
}

#[test]
fn a_row_without_a_slash_means_no_directory() {
    assert_eq!(classes("src/Head", None, directory()), []);
    assert_eq!(classes("Makefile", None, directory()), []);
    assert_eq!(of_file("Makefile/x"), []);
    assert_eq!(classes(".vscode", None, directory()), [Class::Editor]);
    assert_eq!(classes("Makefile", directory(), file(0o644)), [Class::BuildScripts]);
    assert_eq!(classes(".husky", None, link("tools")), [Class::CommitHooks]);
}

#[test]
fn what_was_deleted_is_in_its_class() {
    assert_eq!(classes(".github/workflows/ci.yml", file(0o644), None), [Class::Ci]);
    // Nothing is left to be executed.
    assert_eq!(classes("tool", file(0o755), None), []);
}

#[test]
fn a_program_is_one_by_its_bit() {
    assert_eq!(classes("tool", None, file(0o755)), [Class::Executable]);
    assert_eq!(classes("tool", None, file(0o641)), [Class::Executable]);
    assert_eq!(classes("tool", file(0o644), file(0o744)), [Class::Executable]);
    assert_eq!(classes("tool", file(0o755), file(0o644)), []);
    assert_eq!(classes("dir", None, directory()), []);
    assert_eq!(classes("configure", None, file(0o755)), [Class::BuildScripts, Class::Executable]);
}

#[test]
fn links_that_lead_away() {
    let escapes = |path: &str, target: &str| {
        classes(path, None, link(target)).contains(&Class::EscapingSymlink)
    };
    for (path, target) in [
        ("out", "/etc"),
        ("out", ".."),
        ("out", "../x"),
        ("a/out", "../../x"),
        ("a/out", ".././../x"),
        ("a/b/out", "..//../../x"),
        ("a/out", "b/../../../x"),
        // Where `b` is a link this leads out.
        ("a/out", "b/../x"),
        ("x", ".git/hooks/pre-commit"),
        ("x", "a/.GIT/config"),
        ("x", "GIT~1"),
        ("x", "fixtures/repo.git"),
    ] {
        assert!(escapes(path, target), "{path} -> {target}");
    }
    for (path, target) in [
        ("in", "a"),
        ("in", "./a/b"),
        ("a/in", ".."),
        ("a/in", "../b"),
        ("a/b/in", "../../c"),
        ("in", "..."),
        ("in", "..a/b"),
        ("in", ""),
        ("in", ".gitignore"),
    ] {
        assert!(!escapes(path, target), "{path} -> {target}");
    }
    assert_eq!(classes("src", directory(), link("lib")), [Class::EscapingSymlink]);
    assert_eq!(classes("src", file(0o644), link("lib")), []);
    assert_eq!(classes("src", link("/etc"), None), []);
}

#[test]
fn names_are_read_back_and_slips_are_seen() {
    for class in Class::ALL {
        assert_eq!(class.name().parse::<Class>().unwrap(), *class);
        assert_eq!(serde_json::to_string(class).unwrap(), format!("\"{class}\""));
    }
    let said = "git-internal".parse::<Class>().unwrap_err().to_string();
    assert!(said.contains("did you mean `git-internals`?"), "{said}");
    assert!("\u{1b}[2J".parse::<Class>().unwrap_err().to_string().is_ascii());
}

#[test]
fn the_page_has_every_class_and_row() {
    let page = page();
    for class in Class::ALL {
        assert!(page.contains(&format!("\n## `{class}`\n")), "{class}");
    }
    for row in table::rows() {
        assert!(page.contains(&format!("| `{}` |", row.pattern)), "{}", row.pattern);
    }
}
