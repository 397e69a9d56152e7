use std::collections::BTreeMap;

use super::*;
use crate::changes::{Content, Node};

fn node(text: &str) -> Node {
    let content = Content::Kept(ContentHash::of(text.as_bytes()));
    Node::File(FileNode { mode: 0o644.into(), size: text.len() as u64, content, link: None })
}

fn moves(old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<String> {
    let mut candidates = Candidates::default();
    let mut texts = BTreeMap::new();
    for (path, text) in old {
        let path = ChangePath::new(*path).unwrap();
        texts.insert(path.clone(), (*text).to_owned());
        candidates.see(&Entry::between(path, Some(node(text)), None).unwrap());
    }
    for (path, text) in new {
        let path = ChangePath::new(*path).unwrap();
        texts.insert(path.clone(), (*text).to_owned());
        candidates.see(&Entry::between(path, None, Some(node(text))).unwrap());
    }
    let renames = pair(candidates, &mut |entry| Some(texts[&entry.path].clone().into_bytes()));
    let mut found = Vec::new();
    for (path, _) in new {
        let path = ChangePath::new(*path).unwrap();
        if let Some(origin) = renames.origin(&path) {
            assert_eq!(renames.destination(&origin.from.path), Some(&path));
            assert!(renames.moved_away(&origin.from.path) && !renames.moved_away(&path));
            found.push(format!("{} -> {path} {}%", origin.from.path, origin.likeness));
        }
    }
    found
}

#[test]
fn equal_content_is_a_move_and_the_same_name_comes_first() {
    assert_eq!(moves(&[("a", "x\n")], &[("b", "x\n")]), ["a -> b 100%"]);
    assert_eq!(
        moves(&[("a/one", "x\n"), ("a/two", "x\n")], &[("b/two", "x\n"), ("c", "x\n")]),
        ["a/two -> b/two 100%", "a/one -> c 100%"]
    );
    assert_eq!(moves(&[("a", "x\n")], &[("b", "x\n"), ("c", "x\n")]), ["a -> b 100%"]);
}

#[test]
fn what_is_half_alike_is_a_move_and_what_is_less_is_not() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n";
    assert_eq!(moves(&[("a", old)], &[("b", "1\n2\n3\n4\n5\n6\n7\nx\n")]), ["a -> b 87%"]);
    assert_eq!(moves(&[("a", old)], &[("b", "1\n2\n3\nx\ny\nz\nu\nv\n")]), Vec::<String>::new());
    let closer = [("b", "1\n2\n3\n4\n5\n6\nx\ny\n"), ("c", "1\n2\n3\n4\n5\n6\n7\nx\n")];
    assert_eq!(moves(&[("a", old)], &closer), ["a -> c 87%"]);
}

#[test]
fn empty_files_are_no_moves() {
    assert_eq!(moves(&[("a", "")], &[("b", "")]), Vec::<String>::new());
}

#[test]
fn too_many_candidates_are_none() {
    let names: Vec<String> = (0..HELD / 2 + 1).map(|n| format!("{n:06}")).collect();
    let old: Vec<_> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let moved: Vec<String> = names.iter().map(|name| format!("x{name}")).collect();
    let new: Vec<_> =
        moved.iter().zip(&names).map(|(to, text)| (to.as_str(), text.as_str())).collect();
    assert_eq!(moves(&old, &new), Vec::<String>::new());
    assert_eq!(moves(&old[..100], &new[..100]).len(), 100);
}
