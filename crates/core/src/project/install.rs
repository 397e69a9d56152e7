//! How the dependencies of a part get into the image: outside of the workspace, which is mounted over what the
//! image has there, and readable by whoever works in it.

mod node;

use super::instruction::Instruction::{self, Copy, Env, Run, Why, Workdir};
use super::tree::join;
use super::version::Version;
use super::{Language, Part, Tool, Tree};

/// Where files are put to install from. Nothing in it is needed later but what tools link to.
const DEPS: &str = "/opt/deps";

/// The dependency layers of a part, and what goes first in the search path.
pub(super) fn layers(part: &Part, tree: &Tree) -> (Vec<Instruction>, &'static [&'static str]) {
    match part.language {
        Language::Go => (golang(part, tree), &["/usr/local/go/bin"]),
        Language::Rust => (rust(part, tree), &[]),
        Language::Node => (node::layers(part, tree), &["/node_modules/.bin"]),
        Language::Python => (python(part, tree), &["/opt/venv/bin", "/opt/tools/bin"]),
        Language::Java => (java(part, tree), &["/opt/java/openjdk/bin"]),
        Language::Ruby => (ruby(part, tree), &[]),
    }
}

fn copies(tree: &Tree, dirs: &[String], names: &[&str]) -> Vec<Instruction> {
    let mut all = Vec::new();
    for dir in dirs {
        let files: Vec<String> =
            names.iter().map(|name| join(dir, name)).filter(|path| tree.has(path)).collect();
        if !files.is_empty() {
            all.push(Copy { files, to: format!("{DEPS}/{}", slash(dir)) });
        }
    }
    all
}

fn slash(dir: &str) -> String {
    if dir.is_empty() { String::new() } else { format!("{dir}/") }
}

fn place(dir: &str) -> Instruction {
    Workdir(join(DEPS, dir).trim_end_matches('/').to_owned())
}

fn run(caches: &'static [&'static str], steps: &[&str]) -> Instruction {
    Run { caches, steps: steps.iter().map(ToString::to_string).collect() }
}

fn golang(part: &Part, tree: &Tree) -> Vec<Instruction> {
    let env =
        [("GOTOOLCHAIN", "local"), ("GOMODCACHE", "/opt/go/mod"), ("GOCACHE", "/tmp/go-build")];
    let mut all = vec![
        Why(
            "Go modules, in the image: no network is needed later. Built again when these files change.",
        ),
        Env(env.map(|(name, value)| (name, value.to_owned())).to_vec()),
    ];
    all.extend(copies(tree, &[String::new()], &["go.work"]));
    all.extend(copies(tree, &part.dirs, &["go.mod", "go.sum"]));
    for dir in &part.dirs {
        all.push(place(dir));
        all.push(run(&[], &["mkdir -p \"$GOMODCACHE\"", "go mod download"]));
    }
    all
}

fn rust(part: &Part, tree: &Tree) -> Vec<Instruction> {
    let mut all = vec![
        Why("The toolchain itself, so that nothing is fetched in place of it."),
        run(
            &[],
            &[
                "mkdir -p /opt/toolchain",
                "for program in /usr/local/rustup/toolchains/*/bin/*; do test ! -e \"$program\" || ln -sf \"$program\" /opt/toolchain/; done",
            ],
        ),
        Why(
            "Crates, in the image: no network is needed later. Built again when these files change.",
        ),
        Env(vec![
            ("CARGO_HOME", "/opt/cargo".to_owned()),
            ("PATH", "/opt/toolchain:/usr/local/cargo/bin:$PATH".to_owned()),
        ]),
    ];
    all.extend(copies(tree, &part.dirs, &["Cargo.toml", "Cargo.lock"]));
    // A manifest without any target is none to cargo.
    let stubs: Vec<String> = part
        .dirs
        .iter()
        .map(|dir| {
            let src = join(&join(DEPS, dir), "src").replace("//", "/");
            format!("mkdir -p {src} && touch {src}/lib.rs {src}/main.rs")
        })
        .collect();
    all.push(Run { caches: &[], steps: stubs });
    let is_member = |dir: &String| {
        let root = tree.text("Cargo.toml").unwrap_or_default();
        !dir.is_empty() && root.contains("[workspace]")
    };
    for dir in part.dirs.iter().filter(|dir| !is_member(dir)) {
        all.push(place(dir));
        let locked = if tree.has(&join(dir, "Cargo.lock")) { " --locked" } else { "" };
        all.push(Run { caches: &[], steps: vec![format!("cargo fetch{locked}")] });
    }
    all.push(Env(vec![("CARGO_NET_OFFLINE", "true".to_owned())]));
    all
}

/// Prints what a pyproject.toml depends on, one requirement a line.
const DEPENDS: &str = "python3 -c 'import sys; \
exec(\"try: import tomllib as t\\nexcept ImportError: from pip._vendor import tomli as t\"); \
p = t.load(open(\"pyproject.toml\", \"rb\")); q = p.get(\"project\", {}); \
print(*q.get(\"dependencies\", []), *[d for n, e in q.get(\"optional-dependencies\", {}).items() if n in (\"dev\", \"test\", \"tests\") for d in e], \
*[d for d in p.get(\"dependency-groups\", {}).get(\"dev\", []) if isinstance(d, str)], sep=\"\\n\")' > /tmp/requirements.txt";

fn python(part: &Part, tree: &Tree) -> Vec<Instruction> {
    let venv = |name: &str| format!("python3 -m venv {name}");
    let mut all = vec![
        Why("Packages, in an environment of the image's own: no network is needed later."),
        Env(vec![
            ("VIRTUAL_ENV", "/opt/venv".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ]),
        Run { caches: &[], steps: vec![venv("/opt/venv")] },
    ];
    let tool = match part.tool {
        Tool::Poetry => Some(("poetry", part.tool_version.unwrap_or(Version::line(2, 1)))),
        Tool::Uv => Some(("uv", part.tool_version.unwrap_or(Version::line(0, 8)))),
        _ => None,
    };
    if let Some((name, version)) = tool {
        let install = format!("/opt/tools/bin/pip install {name}=={}.*", version.tag());
        all.push(Run { caches: &["/root/.cache/pip"], steps: vec![venv("/opt/tools"), install] });
    }
    let names =
        ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "poetry.lock", "uv.lock"];
    all.extend(copies(tree, &part.dirs, &names));
    for dir in &part.dirs {
        let has = |name: &str| tree.has(&join(dir, name));
        let pip = "/opt/venv/bin/pip install";
        let (caches, steps): (&'static [&'static str], Vec<String>) = match part.tool {
            Tool::Poetry if has("pyproject.toml") => (
                &["/root/.cache/pypoetry"],
                vec!["POETRY_VIRTUALENVS_CREATE=false /opt/tools/bin/poetry install --no-root --no-interaction".to_owned()],
            ),
            Tool::Uv if has("uv.lock") => (
                &["/root/.cache/uv"],
                vec!["UV_LINK_MODE=copy /opt/tools/bin/uv sync --active --frozen --no-install-project".to_owned()],
            ),
            _ => {
                let mut steps = Vec::new();
                for name in ["requirements.txt", "requirements-dev.txt"].into_iter().filter(|name| has(name)) {
                    steps.push(format!("{pip} -r {name}"));
                }
                if has("pyproject.toml") && steps.is_empty() {
                    steps.extend([DEPENDS.to_owned(), format!("{pip} -r /tmp/requirements.txt"), "rm /tmp/requirements.txt".to_owned()]);
                }
                (&["/root/.cache/pip"], steps)
            }
        };
        if !steps.is_empty() {
            all.push(place(dir));
            all.push(Run { caches, steps });
        }
    }
    if part.tool == Tool::Uv {
        let env =
            [("UV_OFFLINE", "1"), ("UV_NO_SYNC", "1"), ("UV_PROJECT_ENVIRONMENT", "/opt/venv")];
        all.push(Env(env.map(|(name, value)| (name, value.to_owned())).to_vec()));
    }
    all
}

fn java(part: &Part, tree: &Tree) -> Vec<Instruction> {
    let mut all = vec![Why("Libraries and plugins, in the image: no network is needed later.")];
    let mut steps = Vec::new();
    if part.tool == Tool::Gradle {
        let names = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
        all.extend(copies(tree, &part.dirs, &names));
        steps.push("GRADLE_USER_HOME=/opt/gradle-home gradle --no-daemon dependencies".to_owned());
        steps.push("mkdir -p /opt/gradle-home/caches".to_owned());
    } else {
        all.extend(copies(tree, &part.dirs, &["pom.xml"]));
        steps.push("mvn -B -Dmaven.repo.local=/opt/m2 dependency:go-offline".to_owned());
    }
    if let Some(dir) = part.dirs.first() {
        all.push(place(dir));
    }
    all.push(Run { caches: &[], steps });
    let env = match part.tool {
        Tool::Gradle => [
            ("GRADLE_RO_DEP_CACHE", "/opt/gradle-home/caches"),
            ("GRADLE_USER_HOME", "/tmp/gradle"),
        ],
        _ => [("MAVEN_ARGS", "-o"), ("MAVEN_OPTS", "-Dmaven.repo.local=/opt/m2")],
    };
    all.push(Env(env.map(|(name, value)| (name, value.to_owned())).to_vec()));
    all
}

fn ruby(part: &Part, tree: &Tree) -> Vec<Instruction> {
    let env = [("BUNDLE_PATH", "/opt/bundle"), ("BUNDLE_APP_CONFIG", "/opt/bundle")];
    let mut all = vec![
        Why("Gems, in the image: no network is needed later. Built again when these files change."),
        Env(env.map(|(name, value)| (name, value.to_owned())).to_vec()),
    ];
    all.extend(copies(tree, &part.dirs, &["Gemfile", "Gemfile.lock"]));
    for dir in &part.dirs {
        all.push(place(dir));
        all.push(run(&["/root/.bundle/cache"], &["bundle install"]));
    }
    all
}
