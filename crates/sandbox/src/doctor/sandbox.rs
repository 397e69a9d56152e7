//! A whole native sandbox, made as a run makes it, read back, and taken down again. What every part can do
//! by itself is no proof that all of it can be had at once.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::{Caps, Guarantee};
use cofferdam_core::command::CommandRules;
use cofferdam_core::plan::{PLAN_VERSION, Plan, Profile, Relaxed, Root, WORKSPACE, WorkspacePlan};
use cofferdam_core::quantity::{ByteSize, Cpus, Span};
use cofferdam_core::spec::{Limits, Mode, Network, Purpose, Seccomp, Staging, Terminal};
use cofferdam_native::confined::{Preparation, prepare};
use cofferdam_native::process::StartError;
use cofferdam_native::staging::staging;

use super::Place;
use super::check::{Check, Question};
use super::state::existing;
use super::trial;
use crate::cause::in_words;
use crate::host::look_up;
use crate::tree::remove_tree;

const SANDBOX: Question = Question::new("native.sandbox", "a sandbox");

/// What a run may give up by name. That a host lacks it is said by a check of its own.
const GIVEN_UP: [Guarantee; 4] =
    [Guarantee::MemoryLimit, Guarantee::CpuLimit, Guarantee::PidsLimit, Guarantee::Landlock];

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("cannot make a place for it")]
    Place(#[from] io::Error),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("some of it would not go: {}", .0.join(", "))]
    Left(Vec<String>),
}

pub(super) fn examine(place: &Place) -> Check {
    let caps = cofferdam_native::caps::caps();
    let name = trial::name();
    let dir = existing(&place.state_dir).join(format!(".{name}"));
    let tried = try_in(&dir, &name, &caps);
    // Whatever came of it, its place goes.
    let removed = remove_tree(&dir).map_err(Trouble::Place);
    judge(tried.and_then(|relaxed| removed.map(|()| relaxed)), &caps)
}

/// Returns what it had to do without.
fn try_in(dir: &Path, name: &str, caps: &Caps) -> Result<Vec<Guarantee>, Trouble> {
    let (workspace, state) = (dir.join("workspace"), dir.join("state"));
    for made in [dir, &workspace, &state] {
        DirBuilder::new().mode(0o700).create(made)?;
    }
    fs::write(workspace.join("file"), "below")?;
    let lacking: Vec<Guarantee> =
        GIVEN_UP.into_iter().filter(|guarantee| caps.lacks.contains_key(guarantee)).collect();
    let source = look_up(&workspace).map_err(io::Error::other)?;
    // Where there can be no overlay, a run works in a copy, which is then shown as it is.
    let mode = match staging(&state, &source) {
        Staging::Overlay => Mode::Stage,
        Staging::Copy { .. } => Mode::Direct,
    };
    let plan = Plan {
        version: PLAN_VERSION,
        backend: Backend::Native,
        purpose: Purpose::Command,
        command: vec!["/bin/true".into()],
        workdir: WORKSPACE.into(),
        workspace: WorkspacePlan {
            source,
            target: WORKSPACE.into(),
            mode,
            staging: Staging::Overlay,
        },
        repository: None,
        from: None,
        result: None,
        root: Root::Host { readonly: true },
        mounts: Vec::new(),
        toolchains: Vec::new(),
        tmpfs: BTreeMap::from([("/tmp".into(), ByteSize::mib(1))]),
        blocked: Vec::new(),
        env: BTreeMap::new(),
        network: Network::None,
        allow_hosts: Vec::new(),
        limits: Limits {
            memory: ByteSize::mib(64),
            cpus: Cpus { millis: 1000 },
            pids: 16,
            timeout: Span::secs(10),
            idle_timeout: None,
            stop_grace: Span::secs(1),
            output: ByteSize::mib(1),
            disk_reserve: ByteSize(0),
        },
        seccomp: Some(Seccomp::Default),
        proof: Default::default(),
        runtime: None,
        terminal: Terminal::Streams,
        commands: CommandRules::default(),
        relaxed: lacking
            .iter()
            .map(|guarantee| Relaxed { guarantee: *guarantee, reason: "a trial".to_owned() })
            .collect(),
        overrides: Vec::new(),
    };
    let profile = Profile::of(&plan);
    let prepared = prepare(&Preparation { profile: &profile, name, state: &state, stock: None })?;
    let left = prepared.discard();
    if left.is_empty() { Ok(lacking) } else { Err(Trouble::Left(left)) }
}

fn judge(tried: Result<Vec<Guarantee>, Trouble>, caps: &Caps) -> Check {
    match tried {
        Ok(lacking) if lacking.is_empty() => {
            SANDBOX.ok("made one with a workspace in it, and took it down")
        }
        Ok(lacking) => {
            let names: Vec<String> = lacking.iter().map(ToString::to_string).collect();
            SANDBOX.ok(format!("made one without {}, and took it down", names.join(", ")))
        }
        Err(error) => {
            let remedy = match &error {
                // A check of its own says why, and more exactly than the step that failed.
                _ if caps.unusable.is_some() => "see the checks above that fail".to_owned(),
                Trouble::Start(StartError::Confine(error)) => error.remedy(),
                Trouble::Place(_) => "see state.writable".to_owned(),
                _ => "see the checks above that fail".to_owned(),
            };
            SANDBOX.fail(in_words(&error), remedy)
        }
    }
}
