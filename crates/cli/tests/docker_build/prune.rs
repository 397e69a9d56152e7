//! Images are listed and removed by policy: ours, and nobody else's.

use cofferdam_testkit::docker::Which;

use crate::Bench;

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn only_ours_are_removed() {
    let bench = Bench::new(Which::Docker, "prune");
    let mut built = Vec::new();
    for word in ["one", "two", "three"] {
        bench.dockerfile(&format!("RUN echo {word} > /word\nUSER 1000:1000\n"));
        built.push(bench.build()["image"].as_str().unwrap().to_owned());
    }
    // Somebody builds on ours and inherits its labels; somebody else makes a container of it.
    let child = "cofferdam-test-prune-child:1";
    let container = bench.engine.client(&["create", "--network", "none", &built[0], "sh"]);
    bench.engine.client(&["commit", &container, child]);
    let list = |flags: &[&str]| {
        let words = [&["image", "ls", "--sandbox", "docker", "--json"], flags].concat();
        bench.run(&words).json()
    };
    let names = |value: &serde_json::Value| -> Vec<String> {
        let all = value.as_array().unwrap().iter();
        all.map(|image| image["names"][0].as_str().unwrap().to_owned()).collect()
    };
    let shelf = list(&[]);
    let mut known = names(&shelf);
    known.sort();
    let mut expected = built.clone();
    expected.sort();
    assert_eq!(known, expected, "the child is not ours");
    let current: Vec<_> =
        shelf.as_array().unwrap().iter().filter(|i| i["is_current"] == true).collect();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0]["names"][0], built[2].as_str());
    let dry = bench.run(&["image", "prune", "--sandbox", "docker", "--dry-run", "--json"]).json();
    assert_eq!(names(&dry["chosen"]), [built[1].clone()], "one is in use, one is current");
    assert!(bench.has(&built[1]));
    let done = bench.run(&["image", "prune", "--sandbox", "docker"]);
    done.assert_exit(0).assert_stdout_has(&format!("removed {}", built[1]));
    assert!(!bench.has(&built[1]) && bench.has(&built[0]) && bench.has(&built[2]));
    assert!(bench.has("cofferdam-test-prune-child") && bench.has("cofferdam-test-prune"));
    bench.engine.client(&["rm", &container]);
    bench.engine.client(&["rmi", child]);
    let bounds = ["image", "prune", "--sandbox", "docker", "--keep", "1", "--older-than", "30d"];
    bench.run(&bounds).assert_exit(0);
    assert!(!bench.has(&built[0]) && bench.has(&built[2]));
    bench
        .run(&["image", "prune", "--sandbox", "docker", "--max-size", "10g"])
        .assert_exit(0)
        .assert_stdout_has("nothing to remove");
    bench.run(&["image", "prune", "--older-than", "what"]).assert_exit(2);
    // What is gone is built again.
    bench.engine.client(&["rmi", &built[2]]);
    bench.engine.run(&bench.env, &[], "test -e /made-for-this").assert_exit(1);
    assert_eq!(bench.build()["unchanged"], false);
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_image_is_tried_before_it_is_relied_on() {
    let bench = Bench::new(Which::Docker, "check");
    bench
        .run(&["image", "check", "--sandbox", "docker"])
        .assert_exit(1)
        .assert_stderr_has("no image was built");
    bench.dockerfile("RUN mkdir -m 1777 /tmp\nUSER 1000:1000\n");
    bench.build();
    let good = bench.run(&["image", "check", "--sandbox", "docker", "--json"]);
    good.assert_exit(0);
    assert_eq!(good.json()["fit"], true);
    // As it is imported, the base has root as its user.
    let root = bench.run(&["image", "check", "--sandbox", "docker", &bench.base]);
    root.assert_exit(1)
        .assert_stdout_has("FAIL  not: its user is not root")
        .assert_stdout_has("ok    git is there");
    let bare = "cofferdam-test-bare:1";
    bench.engine.import_busybox(bare, &[], &[]);
    let none = bench.run(&["image", "check", "--sandbox", "docker", bare]);
    none.assert_exit(1).assert_stdout_has("FAIL  not: a shell runs in it");
    bench.engine.client(&["rmi", bare]);
}
