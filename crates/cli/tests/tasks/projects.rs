//! Projects by the paths that somebody types: they are kept as what they stand for.

use cofferdam_core::control::project::NewProject;
use cofferdam_testkit::TestEnv;

use crate::place::{BINARY, Place};

fn asked(name: &str, root: &str, allowed: &[&str]) -> NewProject {
    NewProject {
        name: name.into(),
        root_path: root.into(),
        allowed_paths: allowed.iter().map(ToString::to_string).collect(),
        max_running: None,
        default_role: None,
    }
}

#[test]
fn a_root_is_kept_as_the_place_that_it_names() {
    let env = TestEnv::with_binary(BINARY);
    env.file("one/two/f", "x");
    env.symlink("one/two", "link");
    let place = Place::with(&env, None, &["--no-runner"]);
    let top = env.workspace();
    let made = |name: &str, words: &[&str]| {
        let mut command = place.cofferdam();
        command.current_dir(top.join("one/two"));
        command.args(["project", "create", name, "--json"]).args(words);
        env.finish(command).assert_exit(0).json()
    };
    let root = |name: &str, typed: &str| made(name, &["--root", typed])["root_path"].clone();
    let is = |path: &str| top.join(path).to_str().unwrap().trim_end_matches('/').to_owned();
    assert_eq!(made("a", &[])["root_path"], is("one/two"));
    assert_eq!(root("b", "."), is("one/two"));
    assert_eq!(root("c", ".."), is("one"));
    assert_eq!(root("d", "../../link/.."), is("one"), "where the link leads");
    assert_eq!(root("e", &is("one/./two/")), is("one/two"));
    assert_eq!(root("f", "../not/../there"), is("one/there"), "it may come later");
    let allowed = made("g", &["--allow", "..", "--allow", "./f"]);
    assert_eq!(allowed["allowed_paths"][0], is("one"));
    assert_eq!(allowed["allowed_paths"][1], is("one/two/f"));
}

#[test]
fn a_server_refuses_a_root_that_is_not_written_out() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::with(&env, None, &["--no-runner"]);
    let client = place.client();
    let refused = |asked: &NewProject| {
        client.wait(client.client().create_project(asked)).unwrap_err().to_string()
    };
    for root in ["/srv/.", "/srv/../etc", "/./srv", "/.."] {
        let said = refused(&asked("p", root, &[]));
        assert!(said.contains("has `.` or `..` in it"), "{root}: {said}");
        let said = refused(&asked("p", "/srv", &["/srv/data", root]));
        assert!(said.contains("has `.` or `..` in it"), "{root}: {said}");
    }
    assert!(refused(&asked("p", "srv/..", &[])).contains("not an absolute path"));
    for (name, root) in [("p", "/srv/..data"), ("q", "/srv/.git")] {
        client.wait(client.client().create_project(&asked(name, root, &[]))).unwrap();
    }
}
