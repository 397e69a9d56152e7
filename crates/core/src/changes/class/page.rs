//! The page of classes, made from the table.

use super::{Class, table};

const OPENING: &str = "\
# Handoff classes

This page is made from the table of classes (`cofferdam gate --classes`); change the table, not the page.

A change in one of these classes is not applied until somebody allows the class (`--allow-class NAME`, or
`changes.allow_classes`) or the very path (`--allow-path PATH`): the file will later be executed, obeyed or
believed by a program outside of the sandbox. Where such a file is deleted, nothing of it can run; its class is
shown and the change is looked at like any other. Deletions in `git-internals` and `cofferdam-config` need a yes
too.

Patterns hold at any depth. One that ends in `/` means whatever has that name and all below it, any other a file
or a link. Case is ignored, and so is what some file system ignores: characters that do not show, dots and spaces
at the end of a name, `:stream`.
";

pub fn page() -> String {
    let mut page = OPENING.to_owned();
    for class in Class::ALL {
        page.push_str(&format!("\n## `{class}`\n\nThe file {}.\n", class.reason()));
        if let Some(words) = beyond_paths(*class) {
            page.push_str(&format!("\n{words}\n"));
        }
        let rows: Vec<_> = table::rows().filter(|row| row.class == *class).collect();
        if rows.is_empty() {
            continue;
        }
        page.push_str("\n| pattern | such as | because it |\n|---|---|---|\n");
        for row in rows {
            let example = row.examples.iter().find(|example| example.is_ascii()).unwrap_or(&"");
            let pattern = row.pattern.replace('|', "\\|");
            page.push_str(&format!("| `{pattern}` | `{example}` | {} |\n", row.reason()));
        }
    }
    page
}

/// What puts an entry in the class besides its path.
fn beyond_paths(class: Class) -> Option<&'static str> {
    match class {
        Class::Executable => Some("Every new or changed file with an execute bit."),
        Class::EscapingSymlink => Some(
            "Every link to an absolute path, out of the workspace or into a git directory, as far as its own \
             text says; one that goes up after it went down; and one that takes the place of a directory.",
        ),
        Class::Secret => Some(
            "Every file whose first 16 MiB, name or link target have something new that looks like a key, a token or a password, and \
             files that are made for them:",
        ),
        _ => None,
    }
}
