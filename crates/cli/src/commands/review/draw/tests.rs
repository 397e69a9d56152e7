use cofferdam_core::changes::Class;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::file::{Diff, DiffLine};
use super::super::model::Key;
use super::super::source::Loaded;
use super::*;

fn model() -> Model {
    let mut ci = File::fixture(".github/workflows/ci.yml", "created");
    ci.judgement.classes = vec![Class::Ci];
    ci.judgement.missing = vec![Class::Ci];
    ci.judgement.blocks = vec!["ci: is a workflow that GitHub runs".to_owned()];
    let mut pipe = File::fixture("pipe", "created");
    pipe.judgement.verdict = Verdict::Deny;
    let mut host = File::fixture("src/main.rs", "modified");
    host.conflict = Some("edited".to_owned());
    let mut model = Model::new(
        "run 4k2m9x7q: make test".to_owned(),
        loaded(vec![ci, File::fixture("gone", "deleted"), host, pipe]),
    );
    let lines = [
        (Hue::Header, "--- a/src/main.rs", 0),
        (Hue::Header, "+++ b/src/main.rs", 0),
        (Hue::Heading, "@@ -1,2 +1,2 @@ hunk 1 of 2", 1),
        (Hue::Removed, "-old", 1),
        (Hue::Added, "+new", 1),
        (Hue::Heading, "@@ -9,2 +9,3 @@ hunk 2 of 2", 2),
        (Hue::Plain, " same", 2),
        (Hue::Added, "+more", 2),
    ];
    model.cursor = 2;
    let line =
        |(hue, text, hunk): (Hue, &str, usize)| DiffLine { hue, text: text.to_owned(), hunk };
    model.give_diff(2, Diff { lines: lines.map(line).to_vec(), hunks: 2, rows: Vec::new() });
    model
}

fn loaded(files: Vec<File>) -> Loaded {
    Loaded { files, ..Loaded::default() }
}

#[test]
fn what_is_not_listed_is_said() {
    let files = vec![File::fixture("a", "created")];
    let mut model = Model::new("t".to_owned(), Loaded { unlisted: 7, ..loaded(files) });
    let seen = screen(&mut model, 80, 24);
    assert!(seen.contains("The first 1 changes are listed, and 7 more are not."), "{seen}");
    model.dialog = None;
    assert!(screen(&mut model, 80, 24).contains("Changes 1/1 (+7)"));
}

fn screen(model: &mut Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    for cell in buffer.content() {
        assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
    }
    let rows = buffer.content().chunks(usize::from(width).max(1));
    let row = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned()
    };
    rows.map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_small_screen() {
    let mut model = model();
    model.press(Key::Char('s'));
    model.press(Key::Char('y'));
    insta::assert_snapshot!(screen(&mut model, 80, 24), @r#"
    run 4k2m9x7q: make test
    ┌ Changes 3/4 ─────────────────────────────────────────────────────────────────┐
    │[ ] A ci .github/workflows/ci.yml                                             │
    │[ ] D gone                                                                    │
    │[~] M conflict src/main.rs                                                    │
    │[!] A deny pipe                                                               │
    │                                                                              │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌ src/main.rs ─────────────────────────────────────────────────────────────────┐
    │  --- a/src/main.rs                                                           │
    │  +++ b/src/main.rs                                                           │
    │┃ @@ -1,2 +1,2 @@ hunk 1 of 2                                                 │
    │┃ -old                                                                        │
    │┃ +new                                                                        │
    │· @@ -9,2 +9,3 @@ hunk 2 of 2                                                 │
    │·  same                                                                       │
    │· +more                                                                       │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    chosen: 0 of 4, 1 hunk  y/n choose  A apply  D discard  u undo  ? help  q leave
    "#);
}

#[test]
fn a_large_screen() {
    insta::assert_snapshot!(screen(&mut model(), 120, 40), @r#"
    run 4k2m9x7q: make test
    ┌ Changes 3/4 ───────────────────────────────┐┌ src/main.rs ───────────────────────────────────────────────────────────┐
    │[ ] A ci .github/workflows/ci.yml           ││  --- a/src/main.rs                                                     │
    │[ ] D gone                                  ││  +++ b/src/main.rs                                                     │
    │[ ] M conflict src/main.rs                  ││· @@ -1,2 +1,2 @@ hunk 1 of 2                                           │
    │[!] A deny pipe                             ││· -old                                                                  │
    │                                            ││· +new                                                                  │
    │                                            ││· @@ -9,2 +9,3 @@ hunk 2 of 2                                           │
    │                                            ││·  same                                                                 │
    │                                            ││· +more                                                                 │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    │                                            ││                                                                        │
    └────────────────────────────────────────────┘└────────────────────────────────────────────────────────────────────────┘
    chosen: 0 of 4  y/n choose  A apply  D discard  u undo  ? help  q leave
    "#);
}

#[test]
fn a_yes_of_its_own_names_the_reason() {
    let mut model = model();
    model.press(Key::Char('g'));
    model.press(Key::Char(' '));
    model.press(Key::Char('A'));
    insta::assert_snapshot!(screen(&mut model, 80, 24), @r#"
    run 4k2m9x7q: make test
    ┌ Changes 1/4 ─────────────────────────────────────────────────────────────────┐
    │[x] A ci .github/workflows/ci.yml                                             │
    │[ ] D gone                                                                    │
    │[ ] M conflict src/main.rs                                                    │
    │[!] A deny pipe                                                               │
    │                                                                              │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌ ┌ This needs a yes of its own ─────────────────────────────────────────────┐─┐
    │ │Apply it too?  y yes  n leave it  esc back                                │ │
    │ │                                                                          │ │
    │ │.github/workflows/ci.yml                                                  │ │
    │ │ci: is a workflow that GitHub runs                                        │ │
    │ └──────────────────────────────────────────────────────────────────────────┘ │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    chosen: 1 of 4  y/n choose  A apply  D discard  u undo  ? help  q leave
    "#);
}

#[test]
fn keys_are_listed() {
    let mut model = model();
    model.press(Key::Char('?'));
    insta::assert_snapshot!(screen(&mut model, 80, 24), @r#"
    run 4k2m9x7q: make test
    ┌ Changes 3/4 ─────────────────────────────────────────────────────────────────┐
    │[ ] A ci .github/workflows/ci.yml                                             │
    │[┌ Keys ────────────────────────────────────────────────────────────────────┐ │
    │[│j k, arrows  down, up                                                     │ │
    │[│J K          next, previous file                                          │ │
    │ │} {          next, previous hunk                                          │ │
    │ │g G          start, end                                                   │ │
    └─│tab          other pane                                                   │─┘
    ┌ │space        choose or unchoose: the file, or the hunk                    │─┐
    │ │enter        into the file; on a hunk: choose it                          │ │
    │ │y n          choose or not, and go on                                     │ │
    │·│a d          choose all from here on, or none                             │ │
    │·│s            into the hunks of this file                                  │ │
    │·│/ n N        search, next, previous; esc ends it                          │ │
    │·│A            apply what is chosen                                         │ │
    │·│D            discard what is chosen                                       │ │
    │·│u            undo the latest apply                                        │ │
    │ │q            leave                                                        │ │
    │ └──────────────────────────────────────────────────────────────────────────┘ │
    │                                                                              │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    chosen: 0 of 4  y/n choose  A apply  D discard  u undo  ? help  q leave
    "#);
}

/// Whatever a program puts into names and words, and however small the screen is.
#[test]
fn no_control_byte_reaches_a_cell() {
    let evil = "\x1b]52;c;eA==\x07\u{202e}\u{200b}\r\n\t";
    let mut model =
        Model::new("t".to_owned(), loaded(vec![File::fixture(&format!("n{evil}"), "created")]));
    let shown = screen(&mut model, 80, 24);
    assert!(shown.contains("n\\x1b]52;c;eA==\\x07\\u{202e}\\u{200b}\\r\\n\\t"), "{shown}");
    model.tell(vec![evil.to_owned()]);
    let shown = screen(&mut model, 80, 24);
    assert!(shown.contains("\\x1b]52") && !shown.contains('\u{202e}'), "{shown}");
    for (width, height) in [(1, 1), (3, 2), (20, 4), (200, 3)] {
        screen(&mut model, width, height);
    }
}

/// A page of one change with this name and these lines.
fn one(name: &str, lines: &[&str]) -> Model {
    let mut model = Model::new("t".to_owned(), loaded(vec![File::fixture(name, "modified")]));
    let line = |text: &&str| DiffLine::new(Hue::Added, text, 1);
    model
        .give_diff(0, Diff { lines: lines.iter().map(line).collect(), hunks: 1, rows: Vec::new() });
    model
}

/// What stands far to the right is applied like the rest of the line.
#[test]
fn a_long_line_is_seen_to_its_end() {
    let long = format!("+int a = 2;{}system(\"wicked\");", " ".repeat(250));
    for (width, height) in [(80, 24), (120, 40), (30, 24)] {
        let seen = screen(&mut one("f", &[&long, "+next"]), width, height);
        assert!(seen.contains("+int a = 2;"), "{seen}");
        assert!(seen.contains("wicked"), "{seen}");
        assert!(seen.contains("↳"), "{seen}");
    }
}

#[test]
fn a_line_that_is_longer_than_the_page_is_gone_through_by_rows() {
    let long = format!("+{}END", "ab".repeat(2000));
    let mut model = one("f", &[&long, "+next"]);
    assert!(!screen(&mut model, 80, 24).contains("END"));
    model.press(Key::Tab);
    for _ in 0..10 {
        model.press(Key::PageDown);
        screen(&mut model, 80, 24);
    }
    let seen = screen(&mut model, 80, 24);
    assert!(seen.contains("END") && seen.contains("+next"), "{seen}");
    // Where the line goes on is not where it can be found first.
    model.press(Key::Char('/'));
    "+a".chars().for_each(|c| drop(model.press(Key::Char(c))));
    model.press(Key::Enter);
    assert_eq!(model.line, 0);
}

#[test]
fn a_long_name_hides_no_tag_and_not_its_end() {
    let name = format!("{}/deep/{}/end.sh", "a".repeat(60), "b".repeat(60));
    let mut file = File::fixture(&name, "created");
    file.conflict = Some("edited".to_owned());
    file.judgement.verdict = Verdict::Deny;
    file.judgement.classes = vec![Class::Ci];
    let mut model = Model::new("t".to_owned(), loaded(vec![file]));
    model.give_diff(0, Diff::default());
    for width in [80, 120] {
        let seen = screen(&mut model, width, 24);
        let row = seen.lines().nth(2).unwrap();
        for part in ["conflict", "deny", "ci", "…", "/end.sh"] {
            assert!(row.contains(part), "{part}: {row}");
        }
    }
}

#[test]
fn a_long_name_leaves_room_for_the_reason_and_the_question() {
    let name = format!("{}.github/workflows/ci.yml", "long/".repeat(600));
    let mut file = File::fixture(&name, "created");
    file.judgement.missing = vec![Class::Ci];
    file.judgement.blocks =
        vec![format!("ci: {}", "x".repeat(3000)), "editor: is opened there".to_owned()];
    let mut model = Model::new("t".to_owned(), loaded(vec![file]));
    model.give_diff(0, Diff::default());
    model.press(Key::Char('y'));
    model.press(Key::Char('A'));
    let seen = screen(&mut model, 80, 24);
    for part in ["/ci.yml", "ci: xxx", "editor: is opened there", "Apply it too?", "…"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}
