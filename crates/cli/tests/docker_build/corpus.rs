//! Projects of the corpus whose base can be made of Debian's packages: each is found out about, its image is built
//! without a network, and its own tests pass in it and fail where they should.

use cofferdam_testkit::TestEnv;
use cofferdam_testkit::docker::{Engine, Which};
use cofferdam_testkit::projects::Project;

use crate::BINARY;

#[track_caller]
fn builds_and_passes(name: &str, broken: (&str, &str)) {
    let project = Project::named(name);
    let engine = Engine::shared(Which::Docker);
    let env = TestEnv::with_binary(BINARY);
    project.lay_out(&env);
    engine.command(&env, ["init"]).assert_exit(0);
    engine.command(&env, ["image", "build", "--sandbox", "docker"]).assert_exit(0);
    let test = project.test.unwrap();
    engine.run(&env, &[], test).assert_exit(0);
    engine.command(&env, ["image", "check", "--sandbox", "docker"]).assert_exit(0);
    engine
        .command(&env, ["image", "scan", "--sandbox", "docker", "--scanner", "none"])
        .assert_exit(0);
    let (file, text) = broken;
    env.file(file, text);
    let failing = engine.run(&env, &[], test);
    assert!(failing.code().is_some_and(|code| code != 0 && code < 124), "{:?}", failing.code());
    engine.command(&env, ["image", "prune", "--sandbox", "docker", "--keep", "0"]).assert_exit(0);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

const GO: (&str, &str) = ("sum.go", "package sum\n\nfunc Sum(a, b int) int { return a - b }\n");
const NODE: (&str, &str) = ("sum.js", "module.exports = (a, b) => a - b;\n");
const PYTHON: (&str, &str) = ("total.py", "def total(a, b):\n    return a - b\n");
const RUST: (&str, &str) = ("src/lib.rs", "#[test]\nfn fails() {\n    assert_eq!(1, 2);\n}\n");

macro_rules! projects {
    ($($test:ident $name:literal $broken:expr;)+) => {$(
        #[test]
        #[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine with bases: cargo xtask test")]
        fn $test() {
            builds_and_passes($name, $broken);
        }
    )+};
}

projects! {
    go "go" GO;
    go_with_c "go-cgo" ("c_test.go", "package sum\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n");
    node "node-npm" NODE;
    several_of_node "node-several" ("web/sum.js", NODE.1);
    python "python-pip" PYTHON;
    python_with_a_pyproject "python-pyproject" PYTHON;
    rust "rust" RUST;
    rust_workspace "rust-workspace" ("crates/b/src/lib.rs", "pub fn one() -> i32 {\n    2\n}\n");
    go_and_node "go-and-node" ("web/sum.js", NODE.1);
    monorepo "monorepo" ("services/worker/sum.go", GO.1);
}
