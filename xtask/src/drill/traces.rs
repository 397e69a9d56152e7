//! What is left on the host of a scene's runs. Read from the kernel and the disk, whatever the program says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::processes;
use super::report::Report;
use super::scene::Scene;
use crate::cargo::output_of;
use crate::engine::client;

/// How deep control groups are looked for.
const DEPTH: usize = 6;
/// A mount namespace is taken down after the answer was given.
const SETTLING: Duration = Duration::from_secs(3);

/// Looks again for a moment, until there is nothing; then one line for each thing that stays.
pub(super) fn left(scene: &Scene, seen: &BTreeMap<String, String>) -> Vec<String> {
    let end = Instant::now() + SETTLING;
    loop {
        let found = look(scene, seen);
        if found.is_empty() || Instant::now() > end {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn look(scene: &Scene, seen: &BTreeMap<String, String>) -> Vec<String> {
    let top = scene.place.top();
    let mut found: Vec<String> = processes::below(top)
        .into_iter()
        .map(|process| format!("process {} {}", process.pid, process.line))
        .collect();
    // A fault may have put a file system of its own there.
    let own = scene.place.state().display().to_string();
    let others = mounts(top).into_iter().filter(|point| *point != own);
    found.extend(others.map(|point| format!("mount {point}")));
    let group =
        |(dir, whose): (PathBuf, &str)| format!("control group {} of {whose}", dir.display());
    found.extend(groups(seen).into_iter().map(group));
    for kind in ["active", "waste", "pool", "applying"] {
        let dir = scene.state().join(kind);
        let signed = names_in(&dir).into_iter().filter(|name| !is_unsigned(&dir.join(name)));
        found.extend(signed.map(|name| format!("{kind}/{name} in the state directory")));
    }
    found
}

/// What its owner died over before it had said whose it is. It may be about to: so it is left alone for a minute.
pub(super) fn unsigned(state: &Path) -> Vec<PathBuf> {
    let dirs = ["active", "pool"].map(|kind| state.join(kind));
    let all = dirs.iter().flat_map(|dir| names_in(dir).into_iter().map(|name| dir.join(name)));
    all.filter(|path| is_unsigned(path)).collect()
}

fn is_unsigned(path: &Path) -> bool {
    match path.metadata() {
        Ok(meta) if meta.is_file() => {
            meta.len() == 0 && path.parent().is_some_and(|dir| dir.ends_with("active"))
        }
        Ok(_) => {
            path.parent().is_some_and(|dir| dir.ends_with("pool"))
                && !path.join("owner.json").exists()
        }
        Err(_) => false,
    }
}

/// Ids of runs and of prepared sandboxes that the state directory knows of now, and where they stand there.
pub(super) fn ids(state: &Path) -> BTreeMap<String, String> {
    let mut ids = below(state, &["waste", "runs"]);
    ids.extend(going_on(state));
    ids
}

/// Those of them that may still have something outside the state directory.
pub(super) fn going_on(state: &Path) -> BTreeMap<String, String> {
    let launchers = names_in(&state.join("pool")).into_iter().map(|name| format!("pool/{name}"));
    let kinds: Vec<String> = launchers.chain(["pool".to_owned(), "active".to_owned()]).collect();
    below(state, &kinds.iter().map(String::as_str).collect::<Vec<_>>())
}

fn below(state: &Path, kinds: &[&str]) -> BTreeMap<String, String> {
    let named = |kind: &&str| {
        let kind = (*kind).to_owned();
        names_in(&state.join(&kind)).into_iter().map(move |name| (name, kind.clone()))
    };
    let all = kinds.iter().flat_map(named);
    all.filter_map(|(name, kind)| Some((name.get(..26)?.to_owned(), kind))).collect()
}

/// Control groups that carry one of these ids, and whose it is.
pub(super) fn groups(ids: &BTreeMap<String, String>) -> Vec<(PathBuf, &str)> {
    let mut found = Vec::new();
    let mut rest = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((dir, depth)) = rest.pop() {
        for name in names_in(&dir) {
            let path = dir.join(&name);
            if !path.is_dir() || path.is_symlink() {
                continue;
            }
            let id = name.find("01").and_then(|at| name.get(at..at + 26));
            match id.and_then(|id| ids.get(id)) {
                Some(whose) => found.push((path, whose.as_str())),
                None if depth < DEPTH => rest.push((path, depth + 1)),
                None => {}
            }
        }
    }
    found
}

/// What is left of one of these runs in the engine that was used, ended or not.
pub(super) fn containers(
    scene: &Scene,
    seen: &BTreeMap<String, String>,
    report: &mut Report,
) -> Result<()> {
    let left = containers_of(scene, &["--all"], seen)?;
    left.into_iter().for_each(|id| report.wrong(format!("left: container {id}")));
    Ok(())
}

/// Containers of these runs, by the label that names a run: the engine may have others'.
pub(super) fn containers_of(
    scene: &Scene,
    which: &[&str],
    runs: &BTreeMap<String, String>,
) -> Result<Vec<String>> {
    let form = "{{.ID}} {{.Label \"cofferdam.run\"}}";
    let words = ["ps", "--no-trunc", "--filter", "label=cofferdam.run", "--format", form];
    let text = output_of(docker(scene, &words)?.args(which))?;
    Ok(of_runs(&String::from_utf8_lossy(&text), runs))
}

/// The first word of each line whose second is one of these runs.
fn of_runs(lines: &str, runs: &BTreeMap<String, String>) -> Vec<String> {
    let pairs = lines.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(_, run)| runs.contains_key(run.trim())).map(|(id, _)| id.to_owned()).collect()
}

/// A command of the engine's client, to the engine that was used.
pub(super) fn docker(scene: &Scene, words: &[&str]) -> Result<Command> {
    let variable = if scene.sandbox == "podman" { "CONTAINER_HOST" } else { "DOCKER_HOST" };
    let host = scene.engine(variable).with_context(|| format!("{variable} is not set"))?;
    let mut docker = client(&host);
    docker.args(words);
    Ok(docker)
}

/// Mounts at or of something below `top`, in this mount namespace.
pub(super) fn mounts(top: &Path) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let top = top.display().to_string();
    let ours = text.lines().filter(|line| line.contains(&top));
    ours.filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect()
}

/// A directory that is not there has nothing in it.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::Asked;

    #[test]
    fn containers_are_told_by_the_run_that_they_were_made_for() {
        let runs = BTreeMap::from([("01run".to_owned(), "runs".to_owned())]);
        assert_eq!(of_runs("aaa 01run\nbbb 01other\nccc \n", &runs), ["aaa"]);
    }

    #[test]
    fn what_is_left_is_found_wherever_it_is() {
        let scene = Scene::new(&Asked::default()).unwrap();
        assert_eq!(look(&scene, &BTreeMap::new()), Vec::<String>::new());
        let id = "01m7j0gf67q1hm55r2qzzwf576";
        fs::create_dir_all(scene.state().join("active")).unwrap();
        let mark = scene.state().join("active").join(id);
        fs::write(&mark, "").unwrap();
        fs::create_dir_all(scene.state().join(format!("pool/{id}/01m7j0gf9gnn9sdhewfqes29pj")))
            .unwrap();
        // Nobody has signed them yet.
        assert_eq!(look(&scene, &BTreeMap::new()), Vec::<String>::new());
        assert_eq!(unsigned(&scene.state()).len(), 2);
        fs::write(&mark, "{}").unwrap();
        fs::write(scene.state().join(format!("pool/{id}/owner.json")), "{}").unwrap();
        let found = look(&scene, &BTreeMap::new()).join("\n");
        assert!(found.contains(&format!("active/{id}")) && found.contains("pool/"), "{found}");
        assert_eq!(ids(&scene.state()).len(), 2);
        // The group that this test runs in belongs to none of ours.
        assert!(groups(&BTreeMap::from([(id.to_owned(), "runs".to_owned())])).is_empty());
    }
}
