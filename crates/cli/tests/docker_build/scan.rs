//! What is planted is found, by our rules and by whatever scanners there are, and the exit code says how bad.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use cofferdam_testkit::Finished;
use cofferdam_testkit::docker::Which;

use crate::Bench;

/// As the scanners themselves write it.
const TRIVY: &str = r#"{"SchemaVersion":2,"Results":[{"Target":"x (debian 12)","Class":"os-pkgs","Vulnerabilities":[{"VulnerabilityID":"CVE-2024-0001","PkgName":"libssl3","InstalledVersion":"3.0.1","Severity":"CRITICAL","Title":"one"}]},{"Target":"/key","Class":"secret","Secrets":[{"RuleID":"private-key","Severity":"HIGH","Title":"Private key"}]}]}"#;
const GRYPE: &str = r#"{"matches":[{"vulnerability":{"id":"CVE-2024-0002","severity":"Medium","description":"two"},"artifact":{"name":"zlib1g","version":"1.2"}}],"source":{}}"#;
const SNYK: &str = r#"{"vulnerabilities":[{"id":"SNYK-1","severity":"low","title":"three","packageName":"tar","version":"1"}],"ok":false}"#;
const SCOUT: &str = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"docker scout","rules":[{"id":"CVE-2024-0004","shortDescription":{"text":"four"},"properties":{"cvssV3_severity":"HIGH"}}]}},"results":[{"ruleId":"CVE-2024-0004","level":"error","message":{"text":"four"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"/usr/lib"}}}]}]}]}"#;

/// A program that says this, and notes what it was asked.
fn scanner(dir: &Path, name: &str, says: &str, code: i32) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(format!("{name}.json")), says).unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$@\" > {0}/{name}.asked\necho $DOCKER_HOST >> {0}/{name}.asked\ncat {0}/{name}.json\nexit {code}\n",
        dir.display()
    );
    fs::write(dir.join(name), script).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

impl Bench {
    /// Scans with these directories before the usual ones.
    fn scan(&self, dir: &Path, words: &[&str]) -> Finished {
        let mut command: Command = self.engine.cofferdam(&self.env);
        command.args(["image", "scan", "--sandbox", "docker"]).args(words);
        command.env("PATH", format!("{}:/usr/bin:/bin", dir.display()));
        self.env.finish(command)
    }
}

fn ids(done: &Finished) -> Vec<String> {
    let found = done.json();
    let all = found["findings"].as_array().unwrap().iter();
    all.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn what_is_planted_is_found_and_the_threshold_decides() {
    let bench = Bench::new(Which::Docker, "scan");
    let none = bench.env.home().join("no-scanners");
    bench.scan(&none, &[]).assert_exit(1).assert_stderr_has("no image was built");
    bench
        .env
        .file("Dockerfile.cofferdam", "FROM debian:latest\nENV API_TOKEN=abc123def\nUSER root\n");
    let planted = bench.scan(&none, &["--json"]);
    planted.assert_exit(3);
    let found = ids(&planted);
    for id in ["CD001", "CD002", "CD003"] {
        assert!(found.contains(&id.to_owned()), "{id} in {found:?}");
    }
    assert!(!planted.stdout_text().contains("abc123def"));
    let plain = bench.scan(&none, &[]);
    plain
        .assert_exit(3)
        .assert_stdout_has("critical")
        .assert_stderr_has("is installed")
        .assert_stderr_has("install");
    bench.scan(&none, &["--fail-on", "off"]).assert_exit(0);
    bench.scan(&none, &["--fail-on", "what"]).assert_exit(2);
    // A harmless one has a base without a digest, which is of the least severity.
    bench.dockerfile("USER 1000:1000\n");
    bench.build();
    let harmless = bench.scan(&none, &["--json"]);
    harmless.assert_exit(0);
    assert_eq!(ids(&harmless), ["CD011"]);
    bench.scan(&none, &["--fail-on", "low"]).assert_exit(3);
    // The same by the image alone.
    bench.dockerfile("ENV SERVICE_PASSWORD=hunter2222\nUSER 0\n");
    let image = bench.build()["image"].as_str().unwrap().to_owned();
    let found = bench.scan(&none, &["--json", &image]);
    found.assert_exit(3);
    assert_eq!(ids(&found)[0], "CD002");
    assert!(ids(&found).contains(&"CD001".to_owned()));
    assert!(!found.stdout_text().contains("hunter2222"));
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn scanners_on_the_path_are_asked_and_their_findings_merged() {
    let bench = Bench::new(Which::Docker, "scanners");
    bench.dockerfile("USER 1000:1000\n");
    let image = bench.build()["image"].as_str().unwrap().to_owned();
    let dir = bench.env.home().join("scanners");
    scanner(&dir, "trivy", TRIVY, 0);
    scanner(&dir, "grype", GRYPE, 0);
    scanner(&dir, "snyk", SNYK, 1);
    scanner(&dir, "docker-scout", SCOUT, 0);
    let done = bench.scan(&dir, &["--json"]);
    done.assert_exit(3);
    let expected =
        ["CVE-2024-0001", "CVE-2024-0004", "private-key", "CVE-2024-0002", "CD011", "SNYK-1"];
    assert_eq!(ids(&done), expected);
    let reports = done.json()["scanners"].as_array().unwrap().len();
    assert_eq!(reports, 4);
    let asked = fs::read_to_string(dir.join("trivy.asked")).unwrap();
    assert!(asked.starts_with("image --quiet --format json") && asked.contains(&image), "{asked}");
    assert!(asked.contains("unix:///"), "{asked}");
    let one = bench.scan(&dir, &["--json", "--scanner", "grype", "--fail-on", "high"]);
    one.assert_exit(0);
    assert_eq!(ids(&one), ["CVE-2024-0002", "CD011"]);
    bench.scan(&dir, &["--scanner", "what"]).assert_exit(2);
    // One that fails, or says something else, has not found nothing.
    for (says, code, said) in [
        (TRIVY, 2, "trivy failed: it ended with"),
        ("oops", 0, "not JSON"),
        ("{}", 0, "another form"),
    ] {
        scanner(&dir, "trivy", says, code);
        bench.scan(&dir, &["--scanner", "trivy"]).assert_exit(1).assert_stderr_has(said);
    }
    fs::remove_file(dir.join("trivy")).unwrap();
    bench
        .scan(&dir, &["--scanner", "trivy"])
        .assert_exit(1)
        .assert_stderr_has("trivy is not installed");
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_gate_keeps_an_image_from_being_used() {
    let bench = Bench::new(Which::Docker, "gate");
    bench.dockerfile("USER 0\n");
    bench.build();
    bench.env.host_config("images: {gate: high}\n");
    bench.engine.run(&bench.env, &[], "true").assert_exit(125).assert_stderr_has("was not scanned");
    bench.run(&["image", "scan", "--sandbox", "docker", "--scanner", "none"]).assert_exit(3);
    bench
        .engine
        .run(&bench.env, &[], "true")
        .assert_exit(125)
        .assert_stderr_has("findings of severity high");
    bench.dockerfile("USER 1000:1000\n");
    bench.build();
    bench.run(&["image", "scan", "--sandbox", "docker", "--scanner", "none"]).assert_exit(0);
    bench.engine.run(&bench.env, &[], "test -e /made-for-this").assert_exit(0);
}
