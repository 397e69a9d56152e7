//! The Dockerfile: for developing in, not for deploying. The same findings give the same bytes.

use std::collections::BTreeMap;

use crate::image::{ImageRef, NotAnImage};

use super::instruction::Instruction::{self, CopyFrom, Env, From, Run, Shell, User, Why, Workdir};
use super::{Language, Part, System, Tool, Tree, base, install};

/// Its name in the project.
pub const NAME: &str = "Dockerfile.cofferdam";

/// Digests of images by their name, as far as an engine knows them.
pub type Digests = BTreeMap<ImageRef, ImageRef>;

/// What the image is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// The base of the first part, with the others moved in.
    Parts,
    /// An image that somebody chose.
    Image(ImageRef),
}

/// Programs that work needs, with the packages that have them: Debian's, Alpine's.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("git", "git", "git"),
    ("make", "make", "make"),
    ("gcc", "gcc libc6-dev", "gcc musl-dev"),
    ("g++", "g++", "g++"),
];

pub fn dockerfile(
    ground: &Ground,
    parts: &[Part],
    tree: &Tree,
    digests: &Digests,
) -> Result<String, NotAnImage> {
    let mut all = Vec::new();
    let pinned = |image: ImageRef| digests.get(&image).cloned().unwrap_or(image);
    let (first, moved) = match (ground, parts.split_first()) {
        (Ground::Image(image), _) => (image.clone(), parts),
        (Ground::Parts, Some((first, rest))) => (base::image(first)?, rest),
        (Ground::Parts, None) => ("debian:12.11-slim".parse()?, parts),
    };
    all.push(From(pinned(first)));
    let system = match (ground, parts.first()) {
        (Ground::Parts, Some(part)) => part.system,
        _ => System::Debian,
    };
    all.extend(programs(system, parts));
    for part in moved {
        all.extend(moved_in(part, &pinned)?);
    }
    all.extend(user());
    let mut search = Vec::new();
    for part in parts {
        let (layers, path) = install::layers(part, tree);
        search.extend(path);
        // A language that was only asked for has no files to install from.
        if !part.dirs.is_empty() {
            all.extend(layers);
        }
    }
    if !search.is_empty() {
        search.push("$PATH");
        all.push(Why("What was put into the image is found first."));
        all.push(Env(vec![("PATH", search.join(":"))]));
    }
    all.push(Why(
        "The project itself is not in the image: it is mounted here when a command runs.",
    ));
    all.extend([Workdir("/workspace".to_owned()), User, Shell]);
    Ok(text(&all))
}

fn programs(system: System, parts: &[Part]) -> Vec<Instruction> {
    let mut wanted = PROGRAMS.to_vec();
    // What compiles native packages of Node.js is written in Python.
    if parts.iter().any(|part| part.language == Language::Node && part.system == System::Debian) {
        wanted.push(("python3", "python3", "python3"));
    }
    let commands: Vec<_> = wanted.iter().map(|(command, ..)| *command).collect();
    let packages = wanted.iter().map(|(_, debian, alpine)| match system {
        System::Debian => *debian,
        System::Alpine => *alpine,
    });
    let packages = packages.collect::<Vec<_>>().join(" ");
    let look = format!(
        "missing=; for program in {}; do command -v \"$program\" > /dev/null || missing=yes; done",
        commands.join(" ")
    );
    let (cache, fetch): (&'static [&'static str], _) = match system {
        System::Debian => (
            &["/var/cache/apt"],
            format!(
                "{{ apt-get update && apt-get install -y --no-install-recommends ca-certificates {packages} && rm -rf /var/lib/apt/lists/*; }}"
            ),
        ),
        System::Alpine => (&["/var/cache/apk"], format!("apk add ca-certificates {packages}")),
    };
    vec![
        Why("Programs that work needs. Where the base has them all, nothing is fetched."),
        Run {
            caches: cache,
            steps: vec![format!("{look}; \\\n    test -z \"$missing\" || {fetch}")],
        },
    ]
}

fn moved_in(
    part: &Part,
    pinned: &impl Fn(ImageRef) -> ImageRef,
) -> Result<Vec<Instruction>, NotAnImage> {
    let image = pinned(base::image(part)?);
    let mut all = vec![Why("Another language of the project, out of the image that has it.")];
    for path in base::moved(part.language, part.tool) {
        all.push(CopyFrom { image: image.clone(), path });
    }
    let step = |text: &str| Run { caches: &[], steps: vec![text.to_owned()] };
    match (part.language, part.tool) {
        (Language::Go, _) => all.push(path("/usr/local/go/bin")),
        (Language::Rust, _) => {
            all.push(Env(vec![("RUSTUP_HOME", "/usr/local/rustup".to_owned())]));
        }
        (Language::Node, _) => all.push(Run {
            caches: &[],
            steps: [
                "npm/bin/npm-cli.js npm",
                "npm/bin/npx-cli.js npx",
                "corepack/dist/corepack.js corepack",
            ]
            .iter()
            .filter_map(|link| link.split_once(' '))
            .map(|(to, name)| format!("ln -sf ../lib/node_modules/{to} /usr/local/bin/{name}"))
            .collect(),
        }),
        (Language::Java, tool) => {
            all.push(Env(vec![("JAVA_HOME", "/opt/java/openjdk".to_owned())]));
            all.push(step(match tool {
                Tool::Gradle => "ln -s /opt/gradle/bin/gradle /usr/local/bin/gradle",
                _ => "ln -s /usr/share/maven/bin/mvn /usr/local/bin/mvn",
            }));
            all.push(path("/opt/java/openjdk/bin"));
        }
        (Language::Ruby | Language::Python, _) => all.push(step("ldconfig")),
    }
    Ok(all)
}

fn path(dir: &str) -> Instruction {
    Env(vec![("PATH", format!("{dir}:$PATH"))])
}

fn user() -> Vec<Instruction> {
    let steps = [
        "{ grep -q '^[^:]*:[^:]*:1000:' /etc/passwd || echo 'dev:x:1000:1000::/home/dev:/bin/sh' >> /etc/passwd; }",
        "{ grep -q '^[^:]*:[^:]*:1000:' /etc/group || echo 'dev:x:1000:' >> /etc/group; }",
        "mkdir -p /home/dev /workspace",
        "chown 1000:1000 /home/dev /workspace",
    ];
    vec![
        Why("Whoever works in it is an ordinary user."),
        Run { caches: &[], steps: steps.map(str::to_owned).to_vec() },
    ]
}

fn text(all: &[Instruction]) -> String {
    let mut text = String::from(
        "# Made by `cofferdam init`: an image to develop this project in, not to deploy it.\n\
         # Yours to change. `cofferdam image build` builds it, after you said yes to what changed.\n",
    );
    for instruction in all {
        text.push_str(&format!("{instruction}\n"));
    }
    text
}
