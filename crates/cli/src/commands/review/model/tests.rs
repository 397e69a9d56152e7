use std::collections::BTreeSet;

use cofferdam_core::changes::{Class, ContentHash, Verdict};
use cofferdam_sandbox::changes::{Counted, Mark};

use super::*;
use crate::commands::diff::paint::Hue;

fn path(text: &str) -> ChangePath {
    ChangePath::new(text).unwrap()
}

fn file(name: &str) -> File {
    File::fixture(name, "modified")
}

fn with_class(name: &str) -> File {
    let mut file = file(name);
    file.judgement.classes = vec![Class::Ci];
    file.judgement.missing = vec![Class::Ci];
    file.judgement.blocks = vec!["ci: runs there".to_owned()];
    file
}

/// Two lines of header, then hunks of three lines.
fn diff(hunks: usize) -> Diff {
    let line = |text: String, hunk| DiffLine { hue: Hue::Plain, text, hunk };
    let mut lines = vec![line("header".into(), 0), line("header".into(), 0)];
    for hunk in 1..=hunks {
        lines.extend((0..3).map(|n| line(format!("hunk {hunk} line {n}"), hunk)));
    }
    Diff { lines, hunks, rows: Vec::new() }
}

fn model(files: Vec<File>) -> Model {
    let mut model = Model::new("a run".to_owned(), Loaded { files, ..Loaded::default() });
    load(&mut model);
    model
}

fn load(model: &mut Model) {
    if let Some(at) = model.wants_diff() {
        model.give_diff(at, diff(3));
    }
}

/// Presses keys as a loop would; the last effect.
fn press(model: &mut Model, keys: &str) -> Effect {
    let mut effect = Effect::Nothing;
    for c in keys.chars() {
        effect = model.press(match c {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            '\x1b' => Key::Escape,
            c => Key::Char(c),
        });
        load(model);
    }
    effect
}

fn applied(effect: Effect) -> Order {
    match effect {
        Effect::Do(Deed::Apply(order)) => order,
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_are_chosen_with_yes_and_no() {
    let mut model = model(vec![file("a"), file("b"), file("c")]);
    press(&mut model, "yny");
    assert_eq!(model.cursor, 2);
    let order = applied(press(&mut model, "Ay"));
    assert_eq!(order.whole, [path("a"), path("c")]);
    assert!(order.hunks.is_empty() && order.agreed.is_empty());
}

#[test]
fn hunks_are_chosen_one_by_one() {
    let mut model = model(vec![file("a"), file("b")]);
    press(&mut model, "s");
    assert_eq!((model.pane, model.hunk()), (Pane::Diff, 1));
    press(&mut model, "yny");
    assert_eq!(model.files[0].choice, Choice::Hunks(BTreeSet::from([1, 3])));
    assert_eq!(model.cursor, 1, "after the last hunk comes the next file");
    let order = applied(press(&mut model, "Ay"));
    assert!(order.whole.is_empty());
    let [(of, hunks)] = order.hunks.as_slice() else { panic!("{order:?}") };
    assert_eq!((of, &hunks.numbers), (&path("a"), &BTreeSet::from([1, 3])));
    let shown = Mark::of(ContentHash::of(b"before"));
    assert_eq!(hunks.of, Counted::Rest(shown), "they go with what they were shown against");
}

#[test]
fn all_hunks_are_the_whole_file_and_none_is_nothing() {
    let mut model = model(vec![file("a")]);
    press(&mut model, "sa");
    assert_eq!(model.files[0].choice, Choice::Whole);
    press(&mut model, "}{{d");
    assert_eq!(model.files[0].choice, Choice::Nothing);
    press(&mut model, "} ");
    assert_eq!(model.files[0].choice, Choice::Hunks(BTreeSet::from([2])));
}

/// A hunk that is taken out of a whole file leaves the others.
#[test]
fn a_hunk_can_be_taken_out_of_a_file() {
    let mut model = model(vec![file("a")]);
    press(&mut model, " s} ");
    assert_eq!(model.files[0].choice, Choice::Hunks(BTreeSet::from([1, 3])));
}

#[test]
fn nothing_happens_without_a_yes() {
    for keys in ["yAn", "yA\x1b", "yDn", "un", "u\x1b", "yAx", "yAA"] {
        let mut model = model(vec![file("a"), file("b")]);
        assert_eq!(press(&mut model, keys), Effect::Nothing, "{keys:?}");
    }
    let mut model = model(vec![file("a"), file("b")]);
    assert_eq!(press(&mut model, "Ay"), Effect::Nothing, "nothing is chosen");
    assert_eq!(press(&mut model, "uy"), Effect::Do(Deed::Undo));
    assert_eq!(press(&mut model, "yDy"), Effect::Do(Deed::Discard(vec![path("a")])));
}

#[test]
fn a_class_needs_a_yes_of_its_own() {
    let files = || vec![with_class("ci.yml"), file("b"), with_class("ci2.yml")];
    let mut yes = model(files());
    press(&mut yes, "aA");
    assert!(matches!(yes.dialog, Some(Dialog::OwnYes { .. })));
    assert_eq!(press(&mut yes, "y"), Effect::Nothing);
    let order = applied(press(&mut yes, "yy"));
    assert_eq!(order.agreed, [path("ci.yml"), path("ci2.yml")]);

    let mut no = model(files());
    let order = applied(press(&mut no, "aAnyy"));
    assert_eq!(order.whole, [path("b"), path("ci2.yml")]);
    assert_eq!(order.agreed, [path("ci2.yml")]);

    let mut back = model(files());
    assert_eq!(press(&mut back, "aA\x1by"), Effect::Nothing);
    assert!(back.dialog.is_none());
}

#[test]
fn what_is_denied_cannot_be_chosen() {
    let mut denied = file("p");
    denied.judgement.verdict = Verdict::Deny;
    denied.judgement.blocks = vec!["is a named pipe".to_owned()];
    let mut model = model(vec![denied, file("b")]);
    press(&mut model, " ");
    assert!(matches!(&model.dialog, Some(Dialog::Told(words)) if words[1] == "is a named pipe"));
    assert_eq!(applied(press(&mut model, "xaAy")).whole, [path("b")]);
}

#[test]
fn directories_come_and_go_with_what_is_in_them() {
    let files = vec![file("new/a"), file("old/b"), file("old/c"), with_class("w/ci")];
    let mut model = model(files);
    model.implied =
        vec![Implied::Came(path("new")), Implied::Went(path("old")), Implied::Came(path("w"))];
    assert_eq!(
        applied(press(&mut model, "yyAy")).whole,
        [path("new"), path("new/a"), path("old/b")]
    );
    let order = applied(press(&mut model, "gaAyy"));
    assert!(order.whole.contains(&path("old")) && order.whole.contains(&path("w")));
    assert_eq!(order.agreed, [path("w"), path("w/ci")]);
}

#[test]
fn more_than_the_budget_is_asked_about() {
    let mut model = model(vec![file("a")]);
    let order = applied(press(&mut model, "yAy"));
    model.ask_about_budget(vec!["too much".to_owned()], order.clone());
    assert_eq!(press(&mut model, "n"), Effect::Nothing);
    model.ask_about_budget(vec!["too much".to_owned()], order);
    assert!(applied(press(&mut model, "y")).over_budget);
}

#[test]
fn search_goes_round_and_gives_n_back() {
    let mut model = model(vec![file("src/a"), file("doc"), file("src/b")]);
    press(&mut model, "/SRC\n");
    assert_eq!(model.cursor, 2);
    press(&mut model, "n");
    assert_eq!(model.cursor, 0);
    press(&mut model, "N");
    assert_eq!(model.cursor, 2);
    press(&mut model, "\x1bgn");
    assert_eq!((model.cursor, model.search.as_str()), (1, ""));
    press(&mut model, "\t/hunk 3\n");
    assert_eq!(model.hunk(), 3);
    press(&mut model, "/no such\n");
    assert!(matches!(model.dialog, Some(Dialog::Told(_))));
}

#[test]
fn moving_stays_within_the_page() {
    let mut model = model(vec![file("a"), file("b")]);
    press(&mut model, "kkk");
    assert_eq!(model.cursor, 0);
    press(&mut model, "jjjjG");
    assert_eq!(model.cursor, 1);
    press(&mut model, "\tG");
    assert_eq!(model.line, model.rows().len() - 1);
    press(&mut model, "jjg{{{}}}}}}");
    assert_eq!(model.hunk(), 3);
    press(&mut model, "K");
    assert_eq!((model.cursor, model.line), (0, 0));
    let mut empty = model_of_nothing();
    press(&mut empty, "jkJKgG{}sy n\tay d");
    assert_eq!(press(&mut empty, "q"), Effect::Quit);
}

fn model_of_nothing() -> Model {
    model(Vec::new())
}

#[test]
fn leaving_with_choices_is_asked_about() {
    let mut model = model(vec![file("a")]);
    assert_eq!(press(&mut model, "q"), Effect::Quit);
    assert_eq!(press(&mut model, "yq"), Effect::Nothing);
    assert_eq!(press(&mut model, "n"), Effect::Nothing);
    assert_eq!(press(&mut model, "qy"), Effect::Quit);
    assert_eq!(model.press(Key::Interrupt), Effect::Nothing);
    assert_eq!(model.press(Key::Interrupt), Effect::Quit, "interrupted twice");
    press(&mut model, "A");
    assert_eq!(model.press(Key::Interrupt), Effect::Nothing, "an interrupt is no yes");
    assert!(model.dialog.is_none());
}

#[test]
fn choices_outlive_what_was_done_with_others() {
    let mut model = model(vec![file("a"), file("b"), file("c")]);
    press(&mut model, "ynyg");
    model.replace(Loaded { files: vec![file("b"), file("c")], ..Loaded::default() });
    assert_eq!(model.files[1].choice, Choice::Whole);
    assert_eq!(model.files[0].choice, Choice::Nothing);
    model.replace(Loaded::default());
    assert!(model.current().is_none());
}
