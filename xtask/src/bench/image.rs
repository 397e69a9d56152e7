//! An image of a project of which nothing has changed: looked at by us and by the engine's own client; and a
//! command in it.

use anyhow::{Context as _, Result};

use super::case::Case;
use super::engine::{Engine, IMAGE, PAUSE};
use super::place::Place;
use super::start::NOTHING;
use crate::cargo::succeed;
use crate::release;

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let cofferdam = release::binary()?;
    let names = [
        "`docker build` with every step cached",
        "`cofferdam image build` with nothing changed",
        "`cofferdam run` in the project's image",
    ];
    let engine = match Engine::find(place) {
        Ok(engine) => engine,
        Err(error) => {
            let reason = format!("{error:#}");
            return Ok(names.map(|name| Case::skipped(name, reason.clone())).into());
        }
    };
    let tree = place.workspace().join("tree");
    std::fs::create_dir(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
    let write = |name: &str, text: &str| {
        std::fs::write(tree.join(name), text).with_context(|| format!("cannot write {name}"))
    };
    let dockerfile =
        format!("FROM {IMAGE}\nCOPY [\"deps\", \"/opt/deps\"]\nENV A=b\nUSER 1000:1000\n");
    write("Dockerfile.cofferdam", &dockerfile)?;
    write("deps", "one\n")?;
    let ours = |args: &[&str]| {
        let mut command = place.command(&cofferdam);
        command.env("DOCKER_HOST", engine.host()).current_dir(&tree).args(args);
        command
    };
    succeed(&mut ours(&["image", "build", "--quiet", "--sandbox", "docker", "--approve"]))?;
    let mut peer = engine.docker();
    peer.args(["build", "--quiet", "--file"]).arg(tree.join("Dockerfile.cofferdam")).arg(&tree);
    peer.env("DOCKER_BUILDKIT", "0");
    succeed(&mut peer)?;
    let [peer_name, build_name, run_name] = names;
    let mut cases = vec![
        Case::command(peer_name, peer),
        Case::command(build_name, ours(&["image", "build", "--quiet", "--sandbox", "docker"])),
        Case::command(run_name, ours(&["run", "--quiet", "--sandbox", "docker", "--", NOTHING])),
    ];
    for case in &mut cases {
        case.pause = PAUSE;
    }
    // The last case to go takes the engine with it.
    if let Some(last) = cases.last_mut() {
        last.keep(engine);
    }
    Ok(cases)
}
