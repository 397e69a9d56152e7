use super::*;
use crate::changes::{ChangePath, Content, ContentHash};

const BUDGETS: Budgets = Budgets { files: 100, bytes: 1000, deletions: 30, share: 50 };

fn file(bytes: &[u8], size: u64, mode: u32) -> Option<Node> {
    let content = Content::Kept(ContentHash::of(bytes));
    Some(Node::File(FileNode { mode: mode.into(), size, content, link: None }))
}

fn entry(path: &str, before: Option<Node>, after: Option<Node>) -> Entry {
    Entry::between(ChangePath::new(path).unwrap(), before, after).unwrap()
}

fn totals(entries: &[Entry]) -> Totals {
    let mut totals = Totals::default();
    entries.iter().for_each(|entry| totals.count(entry));
    totals
}

fn keys(totals: Totals, tree: Option<u64>) -> Vec<&'static str> {
    BUDGETS.breaches(&totals, tree).iter().map(|breach| breach.key).collect()
}

#[test]
fn every_entry_counts_for_what_it_is() {
    let mut again = entry("d", None, file(b"x", 10, 0o644));
    if let Some(Node::File(file)) = &mut again.after {
        file.link = Some(ChangePath::new("a").unwrap());
    }
    let counted = totals(&[
        entry(".git/index", file(b"a", 5, 0o644), file(b"b", 7, 0o644)),
        entry("a", None, file(b"x", 10, 0o644)),
        entry("b", file(b"x", 20, 0o644), file(b"y", 40, 0o644)),
        entry("c", file(b"x", 80, 0o644), file(b"x", 80, 0o600)),
        again,
        entry("e", file(b"x", 160, 0o644), None),
        entry("f", Some(Node::Directory { mode: 0o755.into() }), None),
    ]);
    assert_eq!(counted, Totals { files: 7, bytes: 57, deletions: 2, touched: 4 });
}

#[test]
fn what_is_within_is_let_through_and_one_more_is_not() {
    let most = Totals { files: 100, bytes: 1000, deletions: 30, touched: 0 };
    assert_eq!(keys(most, None), Vec::<&str>::new());
    assert_eq!(keys(Totals { files: 101, ..most }, None), ["changes.budget.files"]);
    assert_eq!(keys(Totals { bytes: 1001, ..most }, None), ["changes.budget.bytes"]);
    assert_eq!(keys(Totals { deletions: 31, ..most }, None), ["changes.budget.deletions"]);
    let all = Totals { files: 101, bytes: 1001, deletions: 31, touched: 101 };
    assert_eq!(keys(all, Some(1)).len(), 4);
    let said = &BUDGETS.breaches(&Totals { deletions: 31, ..most }, None)[0].message;
    assert!(
        said.contains("31 paths") && said.contains("30 is") && said.contains("--allow-budget"),
        "{said}"
    );
}

#[test]
fn a_share_is_of_what_was_there() {
    let touched = |touched| Totals { touched, ..Totals::default() };
    assert_eq!(keys(touched(50), Some(100)), Vec::<&str>::new());
    assert_eq!(keys(touched(51), Some(100)), ["changes.budget.share"]);
    assert_eq!(keys(touched(501), Some(1001)), ["changes.budget.share"]);
    assert_eq!(keys(touched(500), Some(1001)), Vec::<&str>::new());
    // Too few to say anything, or nobody counted.
    assert_eq!(keys(touched(19), Some(19)), Vec::<&str>::new());
    assert_eq!(keys(touched(20), Some(20)), ["changes.budget.share"]);
    assert_eq!(keys(touched(20), Some(0)), ["changes.budget.share"]);
    assert_eq!(keys(touched(500), None), Vec::<&str>::new());
}

/// Counting on beyond what is worth counting changes nothing.
#[test]
fn a_tree_is_counted_only_as_far_as_it_matters() {
    for touched in [20, 21, 99, 1000] {
        for share in [1, 33, 50, 99] {
            let budgets = Budgets { share, ..BUDGETS };
            let totals = Totals { touched, ..Totals::default() };
            let enough = budgets.tree_worth_counting(&totals).unwrap();
            assert!(budgets.breaches(&totals, Some(enough)).is_empty(), "{touched} {share}");
            assert_eq!(budgets.breaches(&totals, Some(enough - 2)).len(), 1, "{touched} {share}");
        }
    }
    let whole = Budgets { share: 100, ..BUDGETS };
    assert_eq!(whole.tree_worth_counting(&Totals { touched: 1000, ..Totals::default() }), None);
}
