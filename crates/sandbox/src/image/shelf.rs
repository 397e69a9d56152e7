//! The images that were built of projects, as an engine has them: listed, and removed by policy.
//!
//! Ours is what carries the label of this very state directory and the name that we gave it, or is written down
//! with its id. A label alone proves nothing: whoever builds on one of our images inherits it. What a container uses is never removed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cofferdam_core::quantity::{ByteSize, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::build::{BuildError, LABEL};
use super::store::{self, Known};
use crate::backend::docker;
use crate::clock;
use crate::engine::{Engine, Patience, at, encoded, labelled};
use crate::state::StateDir;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shelved {
    /// Its names; none where another took its name over.
    pub names: Vec<String>,
    pub id: String,
    /// When it was built, in seconds since 1970.
    pub created: i64,
    pub size: u64,
    /// Where the project is, as far as that is known.
    pub workspace: Option<PathBuf>,
    /// A run of that project would use it.
    pub is_current: bool,
    /// A container was made of it.
    pub is_used: bool,
}

/// What goes. Each that is given says so for itself.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub older_than: Option<Span>,
    /// Newest images of each project that stay.
    pub keep: Option<usize>,
    /// Most that all together may take; the oldest go first.
    pub max_size: Option<ByteSize>,
    /// Those that no run would use.
    pub unused: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Summary {
    id: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    created: i64,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    labels: Option<std::collections::BTreeMap<String, String>>,
}

/// All of ours, the newest first.
pub fn list(state: &StateDir, engine: &Engine) -> Result<Vec<Shelved>, BuildError> {
    let whose = docker::state_label(state.root());
    let filter = labelled(LABEL);
    let images: Vec<Summary> =
        engine.get(&format!("/images/json?filters={filter}"), Patience::Long)?;
    let containers: Vec<Value> = engine.get("/containers/json?all=1", Patience::Long)?;
    let used: BTreeSet<&str> =
        containers.iter().filter_map(|container| at(container, &["ImageID"]).as_str()).collect();
    let known = store::all(state)?;
    let mut ours: Vec<Shelved> = images
        .into_iter()
        .filter(|image| is_ours(image, &whose, &known, engine))
        .map(|image| {
            let project = owner(&known, &image.id, engine);
            // An image without times in it does not know when it was built.
            let built = project.and_then(|project| {
                let build = project.builds.iter().find(|build| build.id == image.id)?;
                i64::try_from(build.built_at.unix_millis() / 1000).ok()
            });
            Shelved {
                names: names(&image),
                is_used: used.contains(image.id.as_str()),
                is_current: project.is_some_and(|project| {
                    let current = project.current(&engine.at);
                    project.workspace.is_dir() && current.is_some_and(|build| build.id == image.id)
                }),
                workspace: project.map(|project| project.workspace.0.clone()),
                id: image.id,
                created: built.unwrap_or(image.created),
                size: image.size,
            }
        })
        .collect();
    // Of those that were built within one second, the current one is the newest.
    ours.sort_by(|a, b| (b.created, b.is_current, &b.id).cmp(&(a.created, a.is_current, &a.id)));
    Ok(ours)
}

fn owner<'a>(known: &'a [Known], id: &str, engine: &Engine) -> Option<&'a Known> {
    let built = |project: &&Known| {
        project.builds.iter().any(|build| build.id == id && build.engine == engine.at)
    };
    known.iter().find(built)
}

fn names(image: &Summary) -> Vec<String> {
    let tags = image.repo_tags.iter().flatten();
    tags.filter(|tag| !tag.contains("<none>")).cloned().collect()
}

fn is_ours(image: &Summary, whose: &str, known: &[Known], engine: &Engine) -> bool {
    let label = image.labels.as_ref().and_then(|labels| labels.get(LABEL));
    let mut parts = label.map(|label| label.split('/')).into_iter().flatten();
    let (owner_of, _, inputs) = (parts.next(), parts.next(), parts.next());
    let Some(inputs) = inputs.and_then(|inputs| inputs.get(..16)) else { return false };
    if owner_of != Some(whose) {
        return false;
    }
    let names = names(image);
    let is_named = |name: &String| {
        let (path, tag) = name.rsplit_once(':').unwrap_or((name, ""));
        // Podman puts its own registry before a name.
        let path = path.split_once('/').map_or(path, |(first, rest)| {
            if first.contains('.') || first == "localhost" { rest } else { path }
        });
        path.starts_with("cofferdam/") && tag == inputs
    };
    let is_known = owner(known, &image.id, engine).is_some();
    match names.is_empty() {
        true => is_known,
        false => names.iter().all(is_named),
    }
}

/// Those that a policy removes.
pub fn choose<'a>(shelf: &'a [Shelved], policy: &Policy) -> Vec<&'a Shelved> {
    let now = clock::now().unix_millis() / 1000;
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    let free = |image: &&Shelved| !image.is_used;
    if let Some(age) = policy.older_than {
        let oldest = i64::try_from(now).unwrap_or(i64::MAX)
            - i64::try_from(age.millis / 1000).unwrap_or(i64::MAX);
        gone.extend(
            shelf.iter().filter(free).filter(|i| i.created < oldest).map(|i| i.id.as_str()),
        );
    }
    if policy.unused {
        gone.extend(shelf.iter().filter(free).filter(|i| !i.is_current).map(|i| i.id.as_str()));
    }
    if let Some(keep) = policy.keep {
        let mut seen = std::collections::BTreeMap::<Option<&PathBuf>, usize>::new();
        for image in shelf {
            let count = seen.entry(image.workspace.as_ref()).or_default();
            *count += 1;
            if *count > keep && free(&image) {
                gone.insert(&image.id);
            }
        }
    }
    if let Some(most) = policy.max_size {
        let mut left: u64 =
            shelf.iter().filter(|i| !gone.contains(i.id.as_str())).map(|i| i.size).sum();
        for image in shelf.iter().rev().filter(free) {
            if left > most.0 && gone.insert(&image.id) {
                left = left.saturating_sub(image.size);
            }
        }
    }
    shelf.iter().filter(|image| gone.contains(image.id.as_str())).collect()
}

/// Removes one, under each of its names, and forgets it.
pub fn remove(state: &StateDir, engine: &Engine, image: &Shelved) -> Result<(), BuildError> {
    let by_id = [image.id.clone()];
    let names = if image.names.is_empty() { &by_id[..] } else { &image.names[..] };
    for name in names {
        match engine
            .delete(&format!("/images/{}", encoded(name).replace("%2F", "/").replace("%3A", ":")))
        {
            Err(error) if !error.is_missing() => return Err(error.into()),
            _ => {}
        }
    }
    for mut known in store::all(state)? {
        let before = known.builds.len();
        known.builds.retain(|build| build.id != image.id || build.engine != engine.at);
        if known.builds.len() != before {
            store::write(state, &known)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(id: &str, created: i64, size: u64, workspace: &str) -> Shelved {
        Shelved {
            names: Vec::new(),
            id: id.to_owned(),
            created,
            size,
            workspace: Some(workspace.into()),
            is_current: id.ends_with('!'),
            is_used: id.starts_with('u'),
        }
    }

    #[test]
    fn a_policy_takes_what_it_names_and_nothing_in_use() {
        let now = i64::try_from(clock::now().unix_millis() / 1000).unwrap();
        let shelf = [
            image("a!", now, 10, "/a"),
            image("b!", now - 50, 10, "/b"),
            image("u1", now - 100, 10, "/a"),
            image("c", now - 200, 10, "/a"),
        ];
        let of = |policy: &Policy| {
            choose(&shelf, policy).iter().map(|i| i.id.clone()).collect::<Vec<_>>()
        };
        let none = Policy::default();
        assert!(of(&none).is_empty());
        assert_eq!(of(&Policy { unused: true, ..none.clone() }), ["c"]);
        assert_eq!(of(&Policy { older_than: Some(Span::secs(20)), ..none.clone() }), ["b!", "c"]);
        assert_eq!(of(&Policy { keep: Some(1), ..none.clone() }), ["c"]);
        assert_eq!(of(&Policy { max_size: Some(ByteSize(25)), ..none.clone() }), ["b!", "c"]);
        assert_eq!(of(&Policy { max_size: Some(ByteSize(40)), ..none }), Vec::<String>::new());
    }
}
