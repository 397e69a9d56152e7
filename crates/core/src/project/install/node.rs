//! Packages of Node.js. Programs look for them from where they lie upwards, so `/node_modules` is found from anywhere in
//! `/workspace`.
//!
//! A project with its members is installed in a place of its own. One alone is `/node_modules`. Of several that have
//! nothing in common each package is linked to from there; what such a package needs itself is found beside it, as its own
//! project's lock file says. Only where two projects name the same package do both find the first one's.

use serde_json::Value;

use super::super::node;
use super::super::version::Version;
use super::{DEPS, Instruction, Part, Run, Tool, Tree, Why, copies, join, place, slash};

const FILES: &[&str] = &[
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
];

/// Links what is not there yet, scopes and programs one by one. In the directory of packages.
const LINK: &str = "(cd node_modules && for item in * @*/* .bin/*; do \
case \"$item\" in @*/*) ;; @*) continue ;; esac; \
test ! -e \"$item\" || test -e \"/node_modules/$item\" || \
{ mkdir -p \"/node_modules/$(dirname \"$item\")\" && ln -s \"$PWD/$item\" \"/node_modules/$item\"; }; done)";

pub(super) fn layers(part: &Part, tree: &Tree) -> Vec<Instruction> {
    let groups: Vec<Group> = node::groups(tree, &part.dirs)
        .into_iter()
        .enumerate()
        .map(|(at, members)| Group::new(part, tree, members, at == 0))
        .collect();
    let mut all = managers(&groups);
    all.push(Why(
        "Packages, in the image, where programs in /workspace find them: no network is needed later.",
    ));
    let is_alone = groups.len() == 1;
    for group in &groups {
        all.extend(copies(tree, &group.members, FILES));
        all.push(place(group.root()));
        let (caches, install) = group.install(tree);
        let base = join(DEPS, group.root()).trim_end_matches('/').to_owned();
        let mut steps = vec![install.to_owned(), "mkdir -p node_modules".to_owned()];
        steps.push(match is_alone {
            true => format!("ln -s {base}/node_modules /node_modules"),
            false => LINK.to_owned(),
        });
        // Members of a workspace are linked to by their place, and their sources are in /workspace.
        let mut tops: Vec<&str> =
            group.members.iter().filter_map(|dir| below(dir, group.root())).collect();
        tops.dedup();
        for top in tops {
            steps.push(format!("rm -rf {base}/{top}"));
            steps.push(format!("ln -s /workspace/{}{top} {base}/{top}", slash(group.root())));
        }
        all.push(Run { caches, steps });
    }
    all
}

/// A project and its members, the root first, and what installs it.
struct Group {
    members: Vec<String>,
    tool: Tool,
    version: Option<Version>,
}

impl Group {
    /// The part's own manager is that of the first.
    fn new(part: &Part, tree: &Tree, members: Vec<String>, is_first: bool) -> Self {
        let (tool, version) = match is_first {
            true => (part.tool, part.tool_version),
            false => {
                let root = members.first().map_or("", String::as_str);
                let text = tree.at(root, "package.json").unwrap_or_default();
                let manifest = serde_json::from_str(text).unwrap_or(Value::Null);
                let (tool, version, _) = node::tool(tree, root, &manifest, &mut Vec::new());
                (tool, version)
            }
        };
        Self { members, tool, version }
    }

    fn root(&self) -> &str {
        self.members.first().map_or("", String::as_str)
    }

    /// The name and version of a manager that the base does not have.
    fn manager(&self) -> Option<(&'static str, Version)> {
        let version = |known| self.version.unwrap_or(known);
        match self.tool {
            Tool::Pnpm => Some(("pnpm", version(Version::line(9, 15)))),
            Tool::Yarn => Some(("yarn", version(Version::line(1, 22)))),
            Tool::Bun => Some(("bun", version(Version::line(1, 2)))),
            _ => None,
        }
    }

    fn install(&self, tree: &Tree) -> (&'static [&'static str], &'static str) {
        let has = |name: &str| tree.has(&join(self.root(), name));
        match self.tool {
            Tool::Pnpm if has("pnpm-lock.yaml") => (
                &["/root/.local/share/pnpm"],
                "pnpm install --frozen-lockfile --config.node-linker=hoisted",
            ),
            Tool::Pnpm => {
                (&["/root/.local/share/pnpm"], "pnpm install --config.node-linker=hoisted")
            }
            Tool::Yarn if self.manager().is_some_and(|(_, version)| version.major > 1) => {
                (&["/root/.yarn"], "YARN_NODE_LINKER=node-modules yarn install")
            }
            Tool::Yarn if has("yarn.lock") => {
                (&["/root/.cache/yarn"], "yarn install --frozen-lockfile")
            }
            Tool::Yarn => (&["/root/.cache/yarn"], "yarn install"),
            Tool::Bun => (&["/root/.bun"], "bun install"),
            _ if has("package-lock.json") || has("npm-shrinkwrap.json") => {
                (&["/root/.npm"], "npm ci")
            }
            _ => (&["/root/.npm"], "npm install --no-audit --no-fund"),
        }
    }
}

/// Each manager once: the version of whoever comes first.
fn managers(groups: &[Group]) -> Vec<Instruction> {
    let mut all = Vec::new();
    let mut known = Vec::new();
    for (name, version) in groups.iter().filter_map(Group::manager) {
        if known.contains(&name) {
            continue;
        }
        known.push(name);
        // The fourth generation of yarn has another name in the registry.
        let package = if name == "yarn" && version.major > 1 { "@yarnpkg/cli-dist" } else { name };
        all.push(Why("The package manager that the project uses."));
        let step = format!("command -v {name} > /dev/null || npm install -g {package}@{version}");
        all.push(Run { caches: &["/root/.npm"], steps: vec![step] });
    }
    all
}

/// The first name of `dir` below `root`.
fn below<'a>(dir: &'a str, root: &str) -> Option<&'a str> {
    let rest = if root.is_empty() { dir } else { dir.strip_prefix(root)?.strip_prefix('/')? };
    rest.split('/').next().filter(|name| !name.is_empty())
}
