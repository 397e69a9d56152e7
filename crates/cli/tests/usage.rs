//! The documents, held against the program: usage pages are executed, the tests that the specification
//! names exist, and links lead somewhere.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace root exists")
}

/// Each page in a place of its own, so that `last` and the audit log are the page's alone.
#[test]
fn usage_pages_do_what_they_say() {
    let pages = markdown_in(&root().join("docs/usage"));
    assert!(pages.len() >= 4, "{pages:?}");
    for page in pages {
        execute(&page).unwrap();
    }
}

/// Runs the `console` blocks of a page, in order. The page is linked, not copied: with `TRYCMD=overwrite`
/// what is written is the page itself.
fn execute(page: &Path) -> io::Result<()> {
    let place = tempfile::tempdir()?;
    let top = place.path().canonicalize()?;
    let linked = top.join(page.file_name().expect("a page has a name"));
    let home = top.join("home");
    // What trycmd takes for the current directory of a page.
    let workspace = linked.with_extension("in");
    fs::create_dir_all(&workspace)?;
    fs::create_dir_all(&home)?;
    for (name, text) in shown_files(&fs::read_to_string(page)?) {
        let path = match name.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => workspace.join(name),
        };
        fs::create_dir_all(path.parent().unwrap_or(&workspace))?;
        fs::write(path, text)?;
    }
    symlink(page, &linked)?;
    let text = |path: PathBuf| path.to_str().expect("temporary names are text").to_owned();
    // As if installed: pages show commands by the program's name.
    let bin = Path::new(env!("CARGO_BIN_EXE_cofferdam")).parent().unwrap_or(&top).to_owned();
    trycmd::TestCases::new()
        .register_bin("cofferdam", Path::new(env!("CARGO_BIN_EXE_cofferdam")))
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", text(bin)))
        .env("HOME", text(home.clone()))
        .env("XDG_CONFIG_HOME", text(home.join(".config")))
        .env("XDG_STATE_HOME", text(home.join(".local/state")))
        .insert_var("[HOME]", text(home))
        .expect("the name of a variable has the right form")
        .case(&linked)
        .run();
    Ok(())
}

/// Files that a page shows in a block of the form "```yaml NAME", or of `python`, `sh` or `text`: they are there when its
/// commands run.
fn shown_files(page: &str) -> Vec<(&str, String)> {
    let mut files = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let kinds = ["```yaml ", "```python ", "```sh ", "```text "];
        if let Some(name) = kinds.iter().find_map(|open| line.strip_prefix(open)) {
            let body = lines.by_ref().take_while(|line| !line.starts_with("```"));
            files.push((name.trim(), body.map(|line| format!("{line}\n")).collect()));
        }
    }
    files
}

/// Proofs are named as `FILE.rs::NAME`. Each must be a test in that file.
#[test]
fn tests_named_in_the_specification_exist() {
    for page in ["SPECIFICATION.md", "docs/threats-to-changes.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let proofs = proofs(&text);
        assert!(proofs.len() > 30, "{page}: {proofs:?}");
        let missing: Vec<_> = proofs.iter().filter(|(file, test)| !is_test(file, test)).collect();
        assert!(missing.is_empty(), "{page}: not there: {missing:?}");
    }
    assert!(!is_test("crates/core/src/chain.rs", "no_such_test"));
}

fn proofs(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|code| code.contains(".rs::")).filter_map(|code| code.split_once("::")).collect()
}

/// A test has its attribute on one of the lines right above it, or stands in a list: of claims that are made on
/// several databases, or of cases, each after who is to run it.
fn is_test(file: &str, test: &str) -> bool {
    let Ok(source) = fs::read_to_string(root().join(file)) else { return false };
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let list = lines.iter().skip_while(|line| !["claims! {", "cases! {"].contains(*line));
    let mut listed =
        list.take_while(|line| **line != "}").filter_map(|line| line.strip_suffix(','));
    if listed.any(|line| line.split(' ').next_back() == Some(test)) {
        return true;
    }
    let begins = format!("fn {test}(");
    let before = ["", "async ", "pub(crate) ", "pub(crate) async "];
    let is_it = |line: &&str| {
        before.iter().any(|words| line.strip_prefix(words).is_some_and(|l| l.starts_with(&begins)))
    };
    let Some(at) = lines.iter().position(is_it) else { return false };
    let is_attribute = |line: &&str| *line == "#[test]" || line.starts_with("#[tokio::test");
    let own = lines[..at].iter().rev().take_while(|line| !line.is_empty());
    own.into_iter().any(is_attribute) || is_listed(Path::new(file), test)
}

/// Whether the file that has this one as a module lists the test by name, for a macro that makes it several tests.
fn is_listed(file: &Path, test: &str) -> bool {
    let (Some(dir), Some(module)) = (file.parent(), file.file_stem()) else { return false };
    let line = format!("{}::{test},", module.display());
    [dir.join("main.rs"), dir.with_extension("rs")].iter().any(|above| {
        let source = fs::read_to_string(root().join(above)).unwrap_or_default();
        source.lines().any(|found| found.trim() == line)
    })
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = root();
    let mut pages = markdown_in(&root);
    for dir in ["docs", "docs/usage", "docs/decisions"] {
        pages.extend(markdown_in(&root.join(dir)));
    }
    let mut links = 0;
    let mut dead = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for target in links_of(&text) {
            links += 1;
            let path = page.parent().unwrap().join(target.split('#').next().unwrap_or(target));
            let anchor = target.split_once('#').map(|(_, anchor)| anchor);
            let there = match anchor {
                Some(anchor) if target.starts_with('#') => has_heading(&text, anchor),
                Some(anchor) => fs::read_to_string(&path).is_ok_and(|t| has_heading(&t, anchor)),
                None => path.exists(),
            };
            if !there {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(links > 20, "only {links} links were found");
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(
        !has_heading("# Two words\n", "other-words") && has_heading("# Two words\n", "two-words")
    );
}

/// Targets of `[text](target)` within the repository.
fn links_of(text: &str) -> Vec<&str> {
    let targets = text.match_indices("](").filter_map(|(at, _)| text[at + 2..].split(')').next());
    targets.filter(|target| !target.contains("://") && !target.is_empty()).collect()
}

/// Whether a heading gets this anchor: lower case, no punctuation, dashes for spaces.
fn has_heading(text: &str, anchor: &str) -> bool {
    let slug = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| slug(line.trim_start_matches('#')) == anchor)
}

fn markdown_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut pages: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a directory can be listed").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}
