//! Images are fetched when the plan says so, from a real registry on this host's loopback, with the user's own
//! login, which nobody inside gets to see.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cofferdam_testkit::docker::{Engine, Which};
use cofferdam_testkit::{Finished, TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
/// `ada:lovelace`, as `docker login` writes it down.
const LOGIN: &str = "YWRhOmxvdmVsYWNl";
/// The same for `htpasswd -B`.
const PASSWORDS: &str = "ada:$2y$05$/nXIGGdFj5aMCQ9VBm9A3eC/Dq0DMf/M8dWHLhbHQ3mRiZggUKhci\n";

/// A registry of this test's own, which lets in only who is logged in.
struct Registry {
    process: Child,
    name: String,
    _dir: tempfile::TempDir,
}

impl Registry {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let passwords = dir.path().join("passwords");
        fs::write(&passwords, PASSWORDS).unwrap();
        let config = dir.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{ level: error }}\n\
             storage: {{ filesystem: {{ rootdirectory: {} }} }}\n\
             http: {{ addr: \"127.0.0.1:{port}\" }}\n\
             auth: {{ htpasswd: {{ realm: test, path: {} }} }}\n",
            dir.path().join("data").display(),
            passwords.display()
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!(wait_until(Duration::from_secs(20), answers), "the registry does not answer");
        Self { process, name: format!("127.0.0.1:{port}"), _dir: dir }
    }

    /// The client's directory after `docker login`.
    fn login(&self, env: &TestEnv) -> PathBuf {
        let text = format!("{{\"auths\":{{\"{}\":{{\"auth\":\"{LOGIN}\"}}}}}}", self.name);
        let file = env.file("../docker-config/config.json", text);
        file.parent().unwrap().to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Puts an image made of one static program into the registry, and out of the engine again.
fn publish(engine: &Engine, registry: &Registry, config: &str, tag: &str, word: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("bin")).unwrap();
    fs::copy("/bin/busybox", dir.path().join("bin/busybox")).unwrap();
    std::os::unix::fs::symlink("busybox", dir.path().join("bin/sh")).unwrap();
    fs::write(dir.path().join("word"), word).unwrap();
    let place = tempfile::tempdir().unwrap();
    let tar = place.path().join("image.tar");
    let mut pack = Command::new("tar");
    pack.arg("-C").arg(dir.path()).arg("-cf").arg(&tar).arg(".");
    assert!(pack.status().unwrap().success());
    let image = format!("{}/team/app:{tag}", registry.name);
    engine.client(&["import", tar.to_str().unwrap(), &image]);
    engine.client(&["--config", config, "push", "-q", &image]);
    engine.client(&["rmi", "-f", &image]);
    image
}

fn run(engine: &Engine, env: &TestEnv, config: Option<&str>, flags: &[&str]) -> Finished {
    let mut command = engine.cofferdam(env);
    command.args(["run", "--sandbox", "docker"]).args(flags);
    command.args(["--", "/bin/busybox", "sh", "-c", "cat /word; busybox env; ls -a /"]);
    if let Some(config) = config {
        command.env("DOCKER_CONFIG", config);
    }
    env.finish(command)
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn when_it_is_asked_for_and_with_the_users_login() {
    let engine = Engine::shared(Which::Docker);
    let env = TestEnv::with_binary(BINARY);
    let registry = Registry::start();
    let config = registry.login(&env);
    let config = config.to_str().unwrap();
    let image = publish(&engine, &registry, config, "1", "first");
    let image = image.as_str();
    let run = |config, flags: &[&str]| run(&engine, &env, config, flags);

    // Nothing is fetched unasked, and a dry run fetches nothing.
    run(Some(config), &["--image", image]).assert_exit(125).assert_stderr_has("--pull missing");
    run(Some(config), &["--image", image, "--pull", "missing", "--dry-run"]).assert_exit(0);
    run(Some(config), &["--image", image]).assert_exit(125);
    // A stranger gets nothing.
    run(None, &["--image", image, "--pull", "missing"])
        .assert_exit(125)
        .assert_stderr_has("cannot have the image");
    assert_eq!(env.latest_record()["outcome"]["class"], "refused");

    let done = run(Some(config), &["--image", image, "--pull", "missing"]);
    done.assert_exit(0).assert_stderr_has("fetching ");
    let text = done.stdout_text();
    assert!(text.starts_with("first"), "{text}");
    assert!(!text.contains("lovelace") && !text.contains(LOGIN), "{text}");
    assert!(env.grep_state("lovelace").is_empty() && env.grep_state(LOGIN).is_empty());
    let digests = env.latest_record()["effective"]["image_digests"].to_string();
    assert!(digests.contains("@sha256:"), "{digests}");

    // One that is there is not asked for again; `always` asks, and gets what the tag means today.
    let newer = {
        engine.client(&["tag", image, "kept:1"]);
        publish(&engine, &registry, config, "1", "second")
    };
    assert_eq!(newer, image);
    engine.client(&["tag", "kept:1", image]);
    let done = run(None, &["--image", image, "--pull", "missing"]);
    assert!(done.stdout_text().starts_with("first"), "{}", done.stderr_text());
    assert!(!done.stderr_text().contains("fetching"));
    run(None, &["--image", image, "--pull", "always"]).assert_exit(125);
    let done = run(Some(config), &["--image", image, "--pull", "always"]);
    assert!(done.stdout_text().starts_with("second"), "{}", done.stderr_text());

    // The host owner's word stands.
    env.host_config("sandbox: { pull: never }");
    run(Some(config), &["--image", image, "--pull", "always"]).assert_exit(125);
    engine.client(&["rmi", "-f", image, "kept:1"]);
}

/// A registry that takes the question and never answers it.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn one_that_hangs_is_not_waited_for() {
    let engine = Engine::shared(Which::Docker);
    let env = TestEnv::with_binary(BINARY);
    env.host_config("sandbox: { pull_timeout: 2s }");
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let image = format!("127.0.0.1:{}/app:1", deaf.local_addr().unwrap().port());
    let start = Instant::now();
    run(&engine, &env, None, &["--image", &image, "--pull", "missing"])
        .assert_exit(125)
        .assert_stderr_has("in time");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

/// The user's login may be with a program of the host's, which is asked there and nowhere else.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_login_that_a_helper_keeps() {
    let engine = Engine::shared(Which::Docker);
    let env = TestEnv::with_binary(BINARY);
    let registry = Registry::start();
    let config = registry.login(&env);
    let image = publish(&engine, &registry, config.to_str().unwrap(), "2", "helped");
    let helpers = env.top().join("helpers");
    fs::create_dir(&helpers).unwrap();
    let (name, secret) = ("ada", "lovelace");
    let script = format!(
        "#!/bin/sh\ntest \"$1\" = get || exit 3\nread -r server\n\
         test \"$server\" = {} || {{ echo credentials not found in native keychain; exit 1; }}\n\
         printf '{{\"ServerURL\":\"%s\",\"Username\":\"{name}\",\"Secret\":\"{secret}\"}}' \"$server\"\n",
        registry.name
    );
    let helper = helpers.join("docker-credential-kept");
    fs::write(&helper, script).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", helpers.display());
    let run = |text: &str| {
        let file = env.file("../helped-config/config.json", text);
        let mut command = engine.cofferdam(&env);
        command.env("PATH", &path).env("DOCKER_CONFIG", file.parent().unwrap());
        command.args(["run", "--sandbox", "docker", "--image", &image, "--pull", "always", "--"]);
        command.args(["/bin/busybox", "sh", "-c", "cat /word; busybox env"]);
        env.finish(command)
    };
    let own = format!("{{\"credHelpers\":{{\"{}\":\"kept\"}}}}", registry.name);
    for text in [r#"{"credsStore":"kept"}"#, &own] {
        let done = run(text);
        done.assert_exit(0);
        let said = done.stdout_text();
        assert!(said.starts_with("helped") && !said.contains(secret), "{said}");
    }
    assert!(env.grep_state(secret).is_empty());
    // One that keeps nothing for this registry lets a stranger ask; one that is not there is a failure.
    let other = registry.name.replace("127.0.0.1", "localhost");
    let stranger = format!("{{\"credHelpers\":{{\"{other}\":\"kept\"}}}}");
    run(&stranger).assert_exit(125).assert_stderr_has("cannot have the image");
    run(r#"{"credsStore":"missing"}"#)
        .assert_exit(125)
        .assert_stderr_has("docker-credential-missing");
    run(r#"{"credsStore":"../helpers/docker-credential-kept"}"#)
        .assert_exit(125)
        .assert_stderr_has("not the name of a credential helper");
    engine.client(&["rmi", "-f", &image]);
}
