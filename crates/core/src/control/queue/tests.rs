use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Stamp {
    Stamp::new(jiff::Timestamp::from_second(second).unwrap())
}

fn id(n: u128) -> TaskId {
    TaskId::from_parts(1, n)
}

fn project(n: u128) -> ProjectId {
    ProjectId::from_parts(1, n)
}

fn task(n: u128, of: u128) -> Waiting {
    Waiting {
        task: id(n),
        project: Some(project(of)),
        priority: 0,
        order: u64::try_from(n).unwrap(),
        labels: Vec::new(),
        lock: None,
    }
}

fn locking(n: u128, paths: &[&str]) -> Waiting {
    locking_of(n, 1, paths)
}

fn locking_of(n: u128, of: u128, paths: &[&str]) -> Waiting {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    Waiting { lock: Some(PathLock::new(&paths)), ..task(n, of) }
}

fn board(tasks: Vec<Waiting>) -> Board {
    let mut board = Board::new(100);
    for task in tasks {
        board.wait(task, None);
    }
    board
}

fn labeled(labels: &[String]) -> Wish<'_> {
    Wish { labels, projects: None }
}

fn all(board: &mut Board) -> Vec<TaskId> {
    board.take(&Wish::default(), 100, at(0))
}

#[test]
fn the_greater_priority_goes_first_then_the_older() {
    let urgent = Waiting { priority: 5, ..task(3, 1) };
    let mut board = board(vec![task(1, 1), task(2, 1), urgent]);
    assert_eq!(all(&mut board), [id(3), id(1), id(2)]);
    assert_eq!((board.waiting(), board.held()), (0, 3));
}

#[test]
fn projects_take_turns_however_many_one_of_them_has() {
    let many = (1..=50).map(|n| task(n, 1));
    let mut board = board(many.chain([task(90, 2), task(91, 2)]).collect());
    let first: Vec<TaskId> = board.take(&Wish::default(), 4, at(0));
    assert_eq!(first, [id(1), id(90), id(2), id(91)]);
}

#[test]
fn a_priority_counts_within_its_project_alone() {
    let urgent = (1..=50).map(|n| Waiting { priority: 1000, ..task(n, 1) });
    let others = [Waiting { priority: -5, ..task(90, 2) }, Waiting { priority: 5, ..task(91, 2) }];
    let labeled = Waiting { priority: 7, labels: vec!["arm".into()], ..task(92, 2) };
    let mut board = board(urgent.chain(others).chain([labeled]).collect());
    let wish = ["arm".to_owned()];
    let first = board.take(&self::labeled(&wish), 6, at(0));
    assert_eq!(first, [id(1), id(92), id(2), id(91), id(3), id(90)]);
}

#[test]
fn no_more_than_a_project_and_the_server_allow() {
    let mut board = board((1..=5).map(|n| task(n, 1)).chain([task(9, 2)]).collect());
    board.limit(project(1), Some(2));
    assert_eq!(all(&mut board), [id(1), id(9), id(2)]);
    assert_eq!(all(&mut board), []);
    assert!(board.let_go(id(1)));
    assert_eq!(all(&mut board), [id(3)]);
    let mut small = Board::new(1);
    small.wait(task(1, 1), None);
    small.wait(task(2, 2), None);
    assert_eq!(small.take(&Wish::default(), 5, at(0)).len(), 1);
}

#[test]
fn only_a_runner_with_all_the_labels() {
    let gpu = Waiting { labels: vec!["gpu".into()], ..task(1, 1) };
    let mut board = board(vec![gpu, task(2, 1)]);
    assert_eq!(board.take(&labeled(&["arm".into()]), 5, at(0)), [id(2)]);
    assert_eq!(board.take(&labeled(&["arm".into(), "gpu".into()]), 5, at(0)), [id(1)]);
}

#[test]
fn only_what_a_runner_works_for() {
    let free = Waiting { project: None, ..task(1, 1) };
    let mut board = board(vec![free, task(2, 1), task(3, 2)]);
    let own = [project(2)];
    let wish = Wish { labels: &[], projects: Some(&own) };
    assert_eq!(board.take(&wish, 5, at(0)), [id(3)]);
    assert_eq!(all(&mut board), [id(1), id(2)]);
}

#[test]
fn paths_are_worked_on_by_one_at_a_time_in_order() {
    let tasks = vec![
        locking(1, &["src"]),
        locking(2, &["src/deep", "docs"]),
        locking(3, &["docs"]),
        locking(4, &["src2"]),
    ];
    let mut board = board(tasks);
    assert_eq!(all(&mut board), [id(1), id(4)], "3 waits behind 2, which waits for 1");
    board.let_go(id(1));
    assert_eq!(all(&mut board), [id(2)]);
    board.let_go(id(2));
    assert_eq!(all(&mut board), [id(3)]);
}

#[test]
fn places_are_compared_and_not_how_they_are_written() {
    let two = |one: &[&str], (root, other): (&str, &[&str])| {
        let mut board = board(vec![locking(1, one), locking_of(2, 2, other)]);
        board.root(project(1), "/srv/site".into());
        board.root(project(2), root.into());
        all(&mut board).len() == 2
    };
    for (one, other, together) in [
        (&["a"][..], ("/srv/site", &["./a"][..]), false),
        (&["a"], ("/srv/site", &["b"]), true),
        (&["a"], ("/srv/site", &["ab"]), true),
        (&["."], ("/srv/site", &["a"]), false),
        (&["a/b"], ("/srv/site", &["c", "a//b/./c"]), false),
        (&[], ("/srv/site", &[]), false),
        (&[], ("/srv/site/docs", &["a"]), false),
        (&[], ("/srv", &["site/a"]), false),
        (&["a"], ("/srv", &["site/a/b"]), false),
        (&["a"], ("/srv", &["site/b", "a"]), true),
        (&["docs"], ("/srv/site/docs", &[]), false),
        (&["src"], ("/srv/site/docs", &[]), true),
        (&[], ("/srv/site2", &[]), true),
    ] {
        assert_eq!(two(one, other), together, "{one:?} and {other:?}");
    }
}

proptest! {
    #[test]
    fn what_is_held_together_lies_apart(asked in prop::collection::vec((0..3_usize, "[ab./]{0,5}"), 1..12)) {
        const ROOTS: [&str; 3] = ["/a", "/a/b", "/b"];
        let mut board = Board::new(100);
        for (at, root) in ROOTS.iter().enumerate() {
            board.root(project(at as u128), (*root).into());
        }
        // As a task's form lets them through.
        let plain = |path: &str| {
            !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != "..")
        };
        let mut places = HashMap::new();
        for (n, (of, path)) in asked.iter().filter(|(_, path)| plain(path)).enumerate() {
            let n = n as u128;
            board.wait(locking_of(n, *of as u128, &[path]), None);
            let parts = Path::new(ROOTS[*of]).join(path);
            let parts: Vec<String> = parts.components().skip(1).map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            places.insert(id(n), parts);
        }
        while board.waiting() > 0 {
            let together = all(&mut board);
            prop_assert!(!together.is_empty());
            for (at, one) in together.iter().enumerate() {
                for other in &together[..at] {
                    let (one, other) = (&places[one], &places[other]);
                    let both = one.iter().zip(other).all(|(a, b)| a == b);
                    prop_assert!(!both, "{one:?} and {other:?}");
                }
            }
            for task in together {
                board.let_go(task);
            }
        }
    }
}

#[test]
fn whoever_wants_everything_is_not_starved_and_is_alone() {
    let mut board =
        board(vec![locking(1, &["a"]), locking(2, &[]), locking(3, &["b"]), task(4, 1)]);
    assert_eq!(all(&mut board), [id(1), id(4)]);
    board.let_go(id(1));
    assert_eq!(all(&mut board), [id(2)]);
    assert_eq!(all(&mut board), []);
    board.let_go(id(2));
    assert_eq!(all(&mut board), [id(3)]);
}

#[test]
fn what_waits_for_a_moment_is_taken_after_it() {
    let mut board = Board::new(10);
    board.wait(task(1, 1), Some(at(60)));
    assert_eq!(board.take(&Wish::default(), 1, at(59)), []);
    assert_eq!(board.due(), Some(at(60)));
    assert_eq!(board.take(&Wish::default(), 1, at(60)), [id(1)]);
    board.wait(task(2, 1), Some(at(90)));
    assert!(board.forget(id(2)) && !board.forget(id(2)));
    assert_eq!((board.due(), board.waiting()), (None, 0));
}
