//! The configuration from the outside: files, variables and trust, through the real binary.
#![expect(clippy::unwrap_used, reason = "in a test, a failed step is the failure")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A home with a host file and a project in it, and nothing of the real environment.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new(host: &str, project: &str) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for dir in ["config/cofferdam", "home/project/.git", "state"] {
            fs::create_dir_all(place.root.path().join(dir)).unwrap();
        }
        if !host.is_empty() {
            fs::write(place.root.path().join("config/cofferdam/config.yaml"), host).unwrap();
        }
        if !project.is_empty() {
            place.write_project(project);
        }
        place
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("home/project")
    }

    fn write_project(&self, text: &str) {
        fs::write(self.project().join("cofferdam.yaml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cofferdam"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.root.path().join("home"))
            .env("XDG_CONFIG_HOME", self.root.path().join("config"))
            .env("XDG_STATE_HOME", self.root.path().join("state"))
            .current_dir(self.project());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// The value of one key, and what was said about it.
    fn show(&self, key: &str) -> (String, String) {
        let ran = self.run(&["config", "show", "--origin", key]).succeeded();
        (ran.out.trim().to_owned(), ran.err)
    }
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    fn failed_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest() {
    let place = Place::new("", "sandbox:\n  memroy_limit: 1g\n");
    for args in [&["config", "show"][..], &["trust"]] {
        let ran = place.run(args).failed_with(1);
        assert!(ran.err.contains("cofferdam.yaml:2: sandbox.memroy_limit: unknown key"), "{ran:?}");
        assert!(ran.err.contains("did you mean `sandbox.memory_limit`?"), "{ran:?}");
    }
    let ran = place.run(&["config", "check"]).failed_with(1);
    assert!(ran.out.contains("did you mean `sandbox.memory_limit`?"), "{ran:?}");
    place.write_project("sandbox:\n  memory_limit: 1g\n");
    assert!(place.run(&["config", "check"]).succeeded().out.ends_with("cofferdam.yaml: fine\n"));
}

#[test]
fn a_value_of_the_wrong_form_is_an_error_with_its_line() {
    let place = Place::new("sandbox:\n  memory_limit: 1q\n  mode: staged\n", "");
    let ran = place.run(&["config", "show"]).failed_with(1);
    assert!(
        ran.err.contains("config.yaml:2: sandbox.memory_limit: \"1q\" is not a size"),
        "{ran:?}"
    );
    assert!(ran.err.contains("config.yaml:3: sandbox.mode: \"staged\""), "{ran:?}");
    let ran = place.run(&["config", "check", "--json"]).failed_with(1);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json[0]["errors"][0]["line"], 2);
    assert_eq!(json[0]["errors"].as_array().unwrap().len(), 2);
}

#[test]
fn every_value_says_where_it_comes_from() {
    let place = Place::new("sandbox:\n  timeout: 5m\n", "sandbox: {pids_limit: 9}\n");
    let ran = Ran::of(
        place
            .command(&["config", "show", "--origin"])
            .env("COFFERDAM_CPUS", "0.5")
            .output()
            .unwrap(),
    )
    .succeeded();
    let line = |key: &str| ran.out.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(
        line("sandbox.timeout").contains("5m  # ")
            && line("sandbox.timeout").ends_with("config.yaml:2")
    );
    assert!(line("sandbox.pids_limit").ends_with("/cofferdam.yaml:1"));
    assert_eq!(line("sandbox.cpu_limit"), "sandbox.cpu_limit: 0.5  # COFFERDAM_CPUS");
    assert_eq!(line("sandbox.mode"), "sandbox.mode: stage  # built-in default");
    assert_eq!(place.run(&["config", "show", "sandbox.timeout"]).succeeded().out, "5m\n");
    let ran = place.run(&["config", "show", "--json", "sandbox.timeout"]).succeeded();
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["settings"]["sandbox.timeout"]["origin"]["layer"], "host");
    let ran = place.run(&["config", "show", "sandbox.timout"]).failed_with(2);
    assert!(ran.err.contains("did you mean `sandbox.timeout`?"), "{ran:?}");
}

#[test]
fn a_variable_may_not_ask_for_more_than_the_host_file() {
    let place = Place::new("sandbox: {memory_limit: 4g}", "");
    let with = |memory: &str| {
        let mut command = place.command(&["config", "show", "sandbox.memory_limit"]);
        Ran::of(command.env("COFFERDAM_MEMORY", memory).output().unwrap())
    };
    assert_eq!(with("1g").succeeded().out, "1g\n");
    let ran = with("5g").failed_with(1);
    assert!(ran.err.contains("refused by ceiling") && ran.err.contains("config.yaml:1"), "{ran:?}");
    let ran = with("1q").failed_with(1);
    assert!(ran.err.contains("COFFERDAM_MEMORY: \"1q\" is not a size"), "{ran:?}");
}

#[test]
fn a_variable_that_nothing_reads_is_pointed_out() {
    let place = Place::new("", "");
    let mut command = place.command(&["config", "show"]);
    let ran =
        Ran::of(command.env("COFFERDAM_MEMRY", "1g").env("COFFERDAM_RUN", "x").output().unwrap());
    let ran = ran.succeeded();
    assert!(ran.err.contains("did you mean COFFERDAM_MEMORY?"), "{ran:?}");
    assert!(!ran.err.contains("COFFERDAM_RUN"), "{ran:?}");
}

#[test]
fn trust_loosens_a_default_and_nothing_the_host_file_sets() {
    let project = "sandbox:\n  memory_limit: 8g\n  pids_limit: 4000\n  enabled: false\n";
    let place = Place::new("sandbox: {pids_limit: 100}", project);
    let (memory, said) = place.show("sandbox.memory_limit");
    assert_eq!(memory, "sandbox.memory_limit: 2g  # built-in default");
    assert!(
        said.contains("cofferdam.yaml:2: sandbox.memory_limit: 8g is looser than 2g"),
        "{said}"
    );
    assert!(said.contains("`cofferdam trust`"), "{said}");
    assert!(said.contains("cofferdam.yaml:4: sandbox.enabled: honoured from the host file only"));

    let ran = place.run(&["trust"]).succeeded();
    assert!(ran.out.contains("loosens sandbox.memory_limit: 2g -> 8g"), "{ran:?}");
    assert!(!ran.out.contains("loosens sandbox.pids_limit"), "{ran:?}");
    assert!(ran.out.contains("still not honoured: "), "{ran:?}");
    assert!(place.show("sandbox.memory_limit").0.starts_with("sandbox.memory_limit: 8g"));
    assert!(place.show("sandbox.pids_limit").0.starts_with("sandbox.pids_limit: 100"));
    assert!(place.show("sandbox.enabled").0.starts_with("sandbox.enabled: true"));
    let store = place.root.path().join("state/cofferdam/trust.json");
    assert_eq!(fs::metadata(store).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn any_change_takes_the_trust_away() {
    let place = Place::new("", "sandbox: {memory_limit: 8g}");
    place.run(&["trust"]).succeeded();
    let listed = |place: &Place| place.run(&["trust", "--list"]).succeeded().out;
    assert!(listed(&place).starts_with("trusted"), "{}", listed(&place));
    place.write_project("sandbox: {memory_limit: 8g} # and a word more");
    assert!(place.show("sandbox.memory_limit").0.contains("2g"));
    assert!(listed(&place).starts_with("changed"));
    place.write_project("sandbox: {memory_limit: 8g}");
    assert!(place.show("sandbox.memory_limit").0.contains("8g"));
    place.run(&["trust", "--revoke"]).succeeded();
    assert!(place.show("sandbox.memory_limit").0.contains("2g"));
    assert_eq!(place.run(&["trust", "--list", "--json"]).succeeded().out, "[]\n");
    place.run(&["trust", "--revoke"]).failed_with(1);
}

#[test]
fn the_same_text_elsewhere_is_not_trusted() {
    let place = Place::new("", "sandbox: {memory_limit: 8g}");
    place.run(&["trust"]).succeeded();
    let copy = place.root.path().join("home/copy");
    fs::create_dir_all(&copy).unwrap();
    fs::copy(place.project().join("cofferdam.yaml"), copy.join("cofferdam.yaml")).unwrap();
    let args = ["config", "show", "sandbox.memory_limit", "--workspace", "../copy"];
    assert_eq!(place.run(&args).succeeded().out, "2g\n");
}

#[test]
fn trust_needs_a_project_file_and_a_host() {
    let place = Place::new("", "");
    let ran = place.run(&["trust"]).failed_with(1);
    assert!(ran.err.contains("no cofferdam.yaml in"), "{ran:?}");
    place.write_project("sandbox: {memory_limit: 8g}");
    let mut inside = place.command(&["trust"]);
    Ran::of(inside.env("COFFERDAM_RUN", "x").output().unwrap()).failed_with(1);
    assert_eq!(place.run(&["config", "show", "sandbox.memory_limit"]).succeeded().out, "2g\n");
}

#[test]
fn a_project_file_is_a_file() {
    let place = Place::new("", "");
    fs::write(place.root.path().join("real.yaml"), "").unwrap();
    symlink(place.root.path().join("real.yaml"), place.project().join("cofferdam.yaml")).unwrap();
    let ran = place.run(&["config", "show"]).failed_with(1);
    assert!(ran.err.contains("is a symlink"), "{ran:?}");
}

#[test]
fn paths_are_absolute_and_start_at_their_file() {
    let host = "policy: {allowed_paths: [~/data, shared]}";
    let place = Place::new(host, "sandbox: {mounts: [{source: ./fixtures, target: /f}]}");
    place.run(&["trust"]).succeeded();
    let root = place.root.path().canonicalize().unwrap();
    let root = root.display();
    let shown = place.run(&["config", "show"]).succeeded().out;
    for line in [
        format!("policy.root: {root}/home/project\n"),
        format!("policy.allowed_paths: [{root}/home/data, {root}/config/cofferdam/shared]\n"),
        format!("source: {root}/home/project/fixtures,"),
    ] {
        assert!(shown.contains(&line), "{line} in {shown}");
    }
}

/// The generated pages are what the binary generates. `COFFERDAM_BLESS=1` writes them.
#[test]
fn generated_references_are_up_to_date() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let place = Place::new("", "");
    for (command, page) in [("reference", "config-reference.md"), ("schema", "config-schema.json")]
    {
        let made = place.run(&["config", command]).succeeded().out;
        let path = docs.join(page);
        if std::env::var_os("COFFERDAM_BLESS").is_some() {
            fs::write(&path, &made).unwrap();
        }
        let stands = fs::read_to_string(&path).unwrap_or_default();
        assert!(made == stands, "docs/{page} is not what is generated: run with COFFERDAM_BLESS=1");
    }
}

/// A project file by another name is not read, and whoever wrote it is told.
#[test]
fn a_project_file_by_another_name_is_named() {
    let place = Place::new("", "");
    fs::write(place.project().join("cofferdam.yml"), "sandbox: { timeout: 5s }").unwrap();
    let (value, said) = place.show("sandbox.timeout");
    assert!(value.contains("10m"), "{value}");
    assert!(said.contains("cofferdam.yml") && said.contains("cofferdam.yaml"), "{said}");
    // Beside one that is read it is nobody's last word either.
    place.write_project("sandbox: { timeout: 6s }");
    let (value, said) = place.show("sandbox.timeout");
    assert!(value.contains("6s") && said.contains("cofferdam.yml"), "{value} {said}");
}
