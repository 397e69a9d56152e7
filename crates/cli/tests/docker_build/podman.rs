//! The same with Podman.

use cofferdam_testkit::docker::Which;

use crate::Bench;

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman engine: cargo xtask test")]
fn podman_builds_the_same_way() {
    // In an image, Podman's own first process may not be there; ours is, where it needs nothing of the image's.
    let binary = std::env::var("TEST_STATIC_BINARY")
        .expect("TEST_STATIC_BINARY names a program: start the tests with `cargo xtask test`");
    let bench = Bench::with(&binary, Which::Podman, "podman");
    bench.dockerfile(
        "COPY [\"deps\", \"/deps\"]\nRUN --mount=type=cache,target=/var/cache/x test \"$(grep -c : /proc/net/dev)\" = 1\nUSER 1000:1000\n",
    );
    bench.env.file("deps", "one\n");
    let first = bench.build();
    assert_eq!(bench.build()["id"], first["id"]);
    bench.engine.run(&bench.env, &[], "cat /deps").assert_exit(0).assert_stdout("one\n");
    // No time of day goes into it: built again from nothing it has the same layers.
    let image = first["image"].as_str().unwrap().to_owned();
    let layers =
        || bench.engine.client(&["inspect", "--format", "{{.RootFS.Layers}} {{.Created}}", &image]);
    let before = layers();
    bench.engine.client(&["rmi", &image]);
    assert_eq!(bench.build()["unchanged"], false);
    assert_eq!(layers(), before);
    // It knows a digest of whatever it has, to which a base is pinned then.
    bench.engine.import_busybox("golang:1.19-alpine", &["sh"], &[]);
    bench.env.file("go.mod", "module a\n\ngo 1.19\n");
    let text = bench.run(&["init", "--print"]);
    text.assert_exit(0).assert_stdout_has("\nFROM golang:1.19-alpine@sha256:");
    bench.engine.client(&["rmi", "golang:1.19-alpine"]);
    let shelf = bench.run(&["image", "ls", "--sandbox", "podman", "--json"]).json();
    assert_eq!(shelf.as_array().unwrap().len(), 1, "{shelf}");
    let old = ["image", "prune", "--sandbox", "podman", "--older-than", "1h"];
    bench.run(&old).assert_exit(0).assert_stdout_has("nothing to remove");
    bench
        .run(&["image", "check", "--sandbox", "podman"])
        .assert_stdout_has("ok    a shell runs in it");
    bench.run(&["image", "scan", "--sandbox", "podman", "--scanner", "none"]).assert_exit(0);
}
