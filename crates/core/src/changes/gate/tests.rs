use super::*;
use crate::changes::secret::Place;
use crate::changes::{ContentHash, FileNode};
use crate::config::{Budget, ChangeSettings};
use crate::quantity::ByteSize;

fn settings(auto: &[&str], deny: &[&str], classes: &[&str]) -> ChangeSettings {
    let texts = |items: &[&str]| items.iter().map(ToString::to_string).collect();
    let budget = Budget { files: 1, bytes: ByteSize(1), deletions: 1, share: 1 };
    ChangeSettings { auto: texts(auto), deny: texts(deny), allow_classes: texts(classes), budget }
}

fn gate(auto: &[&str], deny: &[&str], classes: &[&str]) -> Gate {
    Gate::new(&settings(auto, deny, classes), &Allowances::default()).unwrap()
}

fn file(mode: u32) -> Option<Node> {
    let content = Content::Kept(ContentHash::of(b"x"));
    Some(Node::File(FileNode { mode: mode.into(), size: 1, content, link: None }))
}

fn entry(path: &str, before: Option<Node>, after: Option<Node>) -> Entry {
    Entry::between(ChangePath::new(path).unwrap(), before, after).unwrap()
}

fn created(path: &str) -> Entry {
    entry(path, None, file(0o644))
}

#[test]
fn the_strictest_pattern_wins() {
    let gate = gate(&["docs/**", "*.md"], &["docs/law/"], &[]);
    let verdict = |path: &str| gate.judge(&created(path), &[]).verdict;
    assert_eq!(verdict("docs/a.txt"), Verdict::Auto);
    assert_eq!(verdict("a.md"), Verdict::Auto);
    assert_eq!(verdict("src/a.rs"), Verdict::Review);
    assert_eq!(verdict("docs/law/a.md"), Verdict::Deny);
    let denied = gate.judge(&created("docs/law/a.md"), &[]);
    assert_eq!(denied.reasons, ["changes.auto: docs/**", "changes.deny: docs/law/"]);
    assert_eq!(denied.blocks, ["changes.deny: docs/law/"]);
    assert!(!gate.judge(&created("src/a.rs"), &[]).is_blocked());
}

#[test]
fn a_class_needs_its_own_yes() {
    let workflow = created(".github/workflows/ci.yml");
    let judged = gate(&["**"], &[], &[]).judge(&workflow, &[]);
    assert_eq!((judged.verdict, judged.is_blocked()), (Verdict::Review, true));
    assert_eq!((judged.classes, judged.missing), (vec![Class::Ci], vec![Class::Ci]));
    let allowed = gate(&["**"], &[], &["ci"]).judge(&workflow, &[]);
    assert_eq!((allowed.verdict, allowed.is_blocked()), (Verdict::Auto, false));
    assert_eq!(allowed.classes, [Class::Ci]);
    // Another class says nothing about this one.
    assert!(gate(&["**"], &[], &["editor"]).judge(&workflow, &[]).is_blocked());
    let program = entry("configure", None, file(0o755));
    let half = gate(&[], &[], &["executable"]).judge(&program, &[]);
    assert_eq!(half.missing, [Class::BuildScripts]);
}

#[test]
fn a_path_allows_all_classes_below_it_and_no_denied_one() {
    let allowed = |path: &str, deny: &[&str]| {
        let paths = vec![ChangePath::new("ci").unwrap()];
        let once = Allowances { classes: Vec::new(), paths };
        let gate = Gate::new(&settings(&[], deny, &[]), &once).unwrap();
        !gate.judge(&entry(path, None, file(0o755)), &[]).is_blocked()
    };
    assert!(allowed("ci/Makefile", &[]) && allowed("ci", &[]));
    assert!(!allowed("cix/Makefile", &[]) && !allowed("Makefile", &[]));
    assert!(!allowed("ci/Makefile", &["ci/"]));
}

#[test]
fn a_deletion_is_shown_and_only_two_classes_hold_it() {
    let gate = gate(&["**"], &[], &[]);
    let judge = |path: &str| gate.judge(&entry(path, file(0o644), None), &[]);
    let workflow = judge(".github/workflows/ci.yml");
    assert_eq!((workflow.verdict, workflow.is_blocked()), (Verdict::Review, false));
    assert_eq!(workflow.classes, [Class::Ci]);
    assert!(judge(".git/hooks/pre-commit").is_blocked());
    assert!(judge("cofferdam.yaml").is_blocked());
    assert_eq!(judge("a.txt").verdict, Verdict::Auto);
}

#[test]
fn some_things_are_never_applied() {
    let once =
        Allowances { classes: Class::ALL.to_vec(), paths: vec![ChangePath::new("a").unwrap()] };
    let gate = Gate::new(&settings(&["**"], &[], &[]), &once).unwrap();
    for special in [Special::Fifo, Special::Socket, Special::CharDevice, Special::BlockDevice] {
        let judged = gate.judge(&entry("a", None, Some(Node::Special { special })), &[]);
        assert_eq!((judged.verdict, judged.is_blocked()), (Verdict::Deny, true));
        assert!(judged.blocks[0].contains("never applied"), "{judged:?}");
    }
    let large =
        FileNode { mode: 0o644.into(), size: 1 << 40, content: Content::Unknown, link: None };
    assert_eq!(gate.judge(&entry("a", None, Some(Node::File(large))), &[]).verdict, Verdict::Deny);
    // A pipe that was there may go.
    let gone = entry("a", Some(Node::Special { special: Special::Fifo }), None);
    assert_eq!(gate.judge(&gone, &[]).verdict, Verdict::Auto);
}

#[test]
fn a_link_is_a_directory_to_what_forbids_and_not_to_what_lets_through() {
    let link = entry("docs", None, Some(Node::Symlink { target: "other".into() }));
    assert_eq!(gate(&["docs/"], &[], &[]).judge(&link, &[]).verdict, Verdict::Review);
    assert_eq!(gate(&[], &["docs/"], &[]).judge(&link, &[]).verdict, Verdict::Deny);
    assert_eq!(gate(&[], &["docs/**"], &[]).judge(&link, &[]).verdict, Verdict::Deny);
    assert_eq!(gate(&[], &["docs/"], &[]).judge(&created("docs"), &[]).verdict, Verdict::Review);
    let directory = entry("docs", None, Some(Node::Directory { mode: 0o755.into() }));
    assert_eq!(gate(&["docs/"], &[], &[]).judge(&directory, &[]).verdict, Verdict::Auto);
}

#[test]
fn a_secret_blocks_until_it_is_allowed() {
    let found = [
        Finding { rule: "a GitHub token", place: Place::Line(3) },
        Finding { rule: "a Stripe key", place: Place::Line(9) },
    ];
    let judged = gate(&["**"], &[], &[]).judge(&created("a.txt"), &found);
    assert_eq!(judged.classes, [Class::Secret]);
    assert_eq!(
        judged.blocks,
        ["secret: a GitHub token in line 3", "secret: a Stripe key in line 9"]
    );
    assert!(!gate(&["**"], &[], &["secret"]).judge(&created("a.txt"), &found).is_blocked());
}

#[test]
fn what_is_taken_off_is_said() {
    let mut shared = entry("a", None, file(0o666));
    shared.stripped = vec![Stripped::Setuid, Stripped::Capabilities];
    let judged = gate(&["**"], &[], &[]).judge(&shared, &[]);
    assert_eq!(judged.verdict, Verdict::Auto);
    assert_eq!(
        judged.reasons[1..],
        [
            "the set-user-id bit is not applied",
            "file capabilities are not applied",
            "that everybody may write to it is not applied"
        ]
    );
    let before = entry("a", file(0o666), file(0o667));
    assert!(
        !gate(&[], &[], &["executable"])
            .judge(&before, &[])
            .reasons
            .iter()
            .any(|r| r.contains("everybody"))
    );
}

#[test]
fn settings_that_mean_nothing_are_no_gate() {
    let none = Allowances::default();
    let error = Gate::new(&settings(&["[a"], &[], &[]), &none).unwrap_err().to_string();
    assert!(error.starts_with("changes.auto: \"[a\" is not a pattern"), "{error}");
    assert!(Gate::new(&settings(&[], &["!a"], &[]), &none).is_err());
    assert!(Gate::new(&settings(&[], &[], &["cicd"]), &none).is_err());
}
