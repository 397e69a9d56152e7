//! A request on its way from flags to a plan, or to a refusal that is written down.
//!
//! The same for one command, a session and a shell: [`Wanted`] says which.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use cofferdam_core::command::Approval;
use cofferdam_core::config::{Entries, Key, Resolved, Settings};
use cofferdam_core::env::EnvName;
use cofferdam_core::paths::{Arg, ExactPath};
use cofferdam_core::policy::forbidden::Places;
use cofferdam_core::record::Record;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::result::ResultRule;
use cofferdam_core::search::Setting;
use cofferdam_core::spec::{Origin, Purpose, SandboxSpec, Terminal};
use cofferdam_sandbox::changes::resume::origin;
use cofferdam_sandbox::request::{Ask, Request, assemble};
use cofferdam_sandbox::run::{Attempt, Prepared, prepare, reject};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;

use crate::commands::image::on_demand;
use crate::commands::run::{SandboxArgs, flags, secrets};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, refused};
use crate::rendered::Rendered;
use crate::settings::{Files, LoadError, host_file_elsewhere};

/// Who wants what, as far as it is known before anything was checked.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) args: &'a SandboxArgs,
    pub(crate) purpose: Purpose,
    pub(crate) command: Vec<Arg>,
    pub(crate) terminal: Terminal,
    pub(crate) result: Option<ResultRule>,
    pub(crate) workspace: ExactPath,
    /// What the files say, where they were read already.
    pub(crate) files: Option<Files>,
    /// What a file that was named beside the flags says. Flags come after it.
    pub(crate) settings: Vec<Setting>,
    /// What counts where nobody has said anything, in the place of the built-in.
    pub(crate) defaults: Entries,
    pub(crate) image: OwnImage,
}

/// What is done about the project's image before it is decided where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnImage {
    /// Built, where settings say so and its files have changed.
    Built,
    /// Left as it is: nothing is to be done, only shown.
    Left,
}

impl<'a> Wanted<'a> {
    pub(crate) fn command(args: &'a SandboxArgs, command: Vec<Arg>, context: &Context) -> Self {
        let workspace = args.workspace.as_ref().map(|dir| context.resolve(dir));
        let workspace = workspace.unwrap_or_else(|| context.cwd.clone()).into();
        let (purpose, terminal) = (Purpose::Command, Terminal::Streams);
        let (result, files, settings, image) = (None, None, Vec::new(), OwnImage::Built);
        let defaults = Entries::default();
        Self {
            args,
            purpose,
            command,
            terminal,
            result,
            workspace,
            files,
            settings,
            defaults,
            image,
        }
    }

    pub(crate) fn session(args: &'a SandboxArgs, context: &Context) -> Self {
        Self { purpose: Purpose::Session, ..Self::command(args, Vec::new(), context) }
    }

    /// Decides what is to be done, without doing any of it.
    pub(crate) fn decide(&self, context: &Context) -> Result<Prepared, Box<Turned>> {
        self.decide_and(context, |_| Ok(()))
    }

    /// The same, where what was decided can still be refused.
    pub(crate) fn decide_and(
        &self,
        context: &Context,
        further: impl FnOnce(&Prepared) -> Result<(), Refusal>,
    ) -> Result<Prepared, Box<Turned>> {
        let request = self.request(context)?;
        let prepared = prepare(&request, &context.state_dir, &context.engines());
        let prepared = prepared.and_then(|prepared| further(&prepared).map(|()| prepared));
        prepared.map_err(|refusal| {
            let spec = Some(Box::new(request.spec));
            Box::new(Turned { spec, ..Turned::new(refusal) })
        })
    }

    /// What is asked for, looked up; nothing is planned yet.
    pub(crate) fn request(&self, context: &Context) -> Result<Request, Box<Turned>> {
        request(self, context)
    }

    /// Writes down that it was turned down.
    pub(crate) fn turn_down(&self, context: &Context, turned: &Turned) -> Result<Record, Failure> {
        let secrets = secrets(self.args, context, turned.spec.as_deref());
        let attempt =
            Attempt { command: &self.command, workspace: &self.workspace, secrets: &secrets };
        let state = open_state(context)?;
        reject(&state, &context.actor, attempt, &turned.refusal).map_err(not_run)
    }
}

/// A request that is turned down: for the record, and for the user.
#[derive(Debug)]
pub(crate) struct Turned {
    pub(crate) refusal: Refusal,
    pub(crate) failure: Failure,
    /// As far as it came.
    spec: Option<Box<SandboxSpec>>,
}

impl Turned {
    fn new(refusal: Refusal) -> Self {
        Self { failure: refused(&refusal), refusal, spec: None }
    }
}

impl From<Refusal> for Box<Turned> {
    fn from(refusal: Refusal) -> Self {
        Box::new(Turned::new(refusal))
    }
}

impl From<LoadError> for Box<Turned> {
    /// Wrong settings are refused like anything else, but every fault in them is shown.
    fn from(error: LoadError) -> Self {
        if let LoadError::Refused(refusal) = error {
            return refusal.into();
        }
        let failure = error.failure(Exit::NotRun);
        let refusal = Refusal {
            rule: Rule::ValueForm,
            field: "configuration".to_owned(),
            message: failure.error.to_string(),
            remedy: failure.hints.join("; "),
        };
        Box::new(Turned { refusal, failure, spec: None })
    }
}

fn request(wanted: &Wanted<'_>, context: &Context) -> Result<Request, Box<Turned>> {
    let mut entries = Entries::default();
    for setting in &wanted.settings {
        let set = setting.set(&mut entries, "the loop's file");
        set.map_err(|error| LoadError::Config(vec![error]))?;
    }
    flags(wanted.args, &mut entries)?;
    let files = match &wanted.files {
        Some(files) => files.clone(),
        None => Files::read(context, &wanted.workspace)?,
    };
    let resolved = files.over(wanted.defaults.clone()).resolve(context, entries)?;
    for warning in resolved.warnings() {
        say(&format!("warning: {warning}"));
    }
    // Files list what may be there; whoever names a variable here wants it inside.
    for name in wanted.args.pass_env.iter().filter(|name| context.variable(name).is_none()) {
        say(&format!("warning: --pass-env {name}: it is not set here, and will not be inside"));
    }
    let settings = resolved.settings();
    let may_build = settings.sandbox.enabled && settings.sandbox.image.is_none();
    if settings.images.auto_build && may_build && wanted.image == OwnImage::Built {
        on_demand::build(&settings, &wanted.workspace, context)?;
    }
    let ask = ask(wanted, context, &resolved, &settings)?;
    let request = assemble(&settings, ask)?;
    for note in &request.notes {
        say(&format!("note: {note}"));
    }
    Ok(request)
}

fn ask(
    wanted: &Wanted<'_>,
    context: &Context,
    resolved: &Resolved,
    settings: &Settings,
) -> Result<Ask, Refusal> {
    let passed = passed(context, settings)?;
    Ok(Ask {
        result: wanted.result.clone(),
        purpose: wanted.purpose,
        command: wanted.command.clone(),
        workspace: wanted.workspace.0.clone(),
        workdir: wanted.args.workdir.clone().map(ExactPath),
        terminal: wanted.terminal,
        role: wanted.args.role.clone(),
        from: from(wanted, context)?,
        approval: if wanted.args.reviewed { Approval::Reviewed } else { Approval::Asked },
        explicit: resolved.explicit(),
        host_env: context.place().collect(),
        passed,
        homes: context.tool_homes(),
        places: places(context),
    })
}

/// Values of the host variables that settings pass through by name.
pub(crate) fn passed(
    context: &Context,
    settings: &Settings,
) -> Result<BTreeMap<EnvName, String>, Refusal> {
    let mut passed = BTreeMap::new();
    for name in &settings.sandbox.env_passthrough {
        // A name that is not set on the host is not set inside either.
        let Some(value) = context.variable(name.as_str()) else { continue };
        let value = value.to_str().ok_or_else(|| Refusal {
            rule: Rule::ValueForm,
            field: Key::SandboxEnvPassthrough.name().to_owned(),
            message: format!("the value of {name} is not text"),
            remedy: "leave it out: only UTF-8 values can be passed through".to_owned(),
        })?;
        passed.insert(name.clone(), value.to_owned());
    }
    Ok(passed)
}

/// What must stay out of reach on this host.
pub(crate) fn places(context: &Context) -> Places {
    let mut config = host_file_elsewhere(context);
    config.push(context.config_dir.clone());
    Places { homes: context.homes(), state: vec![context.state_dir.clone()], config }
}

/// The run to go on from, looked up.
fn from(wanted: &Wanted<'_>, context: &Context) -> Result<Option<Origin>, Refusal> {
    let Some(text) = &wanted.args.from else { return Ok(None) };
    let refuse = |message: String| Refusal {
        rule: Rule::ValueForm,
        field: "from".to_owned(),
        message,
        remedy: "name a run of this workspace: `cofferdam runs` lists them".to_owned(),
    };
    let workspace = std::fs::canonicalize(&wanted.workspace)
        .map_err(|error| refuse(format!("{}: {error}", wanted.workspace.display())))?;
    let state = StateDir::open(&context.state_dir).map_err(|error| refuse(error.to_string()))?;
    let store = Store::new(&state);
    let run = store.find_changed(text, &workspace).map_err(|error| refuse(error.to_string()))?;
    origin(&store, run, &workspace).map(Some)
}

/// Our own words: on standard error, inert, marked as ours.
pub(crate) fn say(text: &str) {
    tell(&Rendered::line(text));
}

/// The same of what is inert already.
pub(crate) fn tell(line: &Rendered) {
    // One write, so that lines of several processes do not mix. With standard error gone there is
    // nobody to tell.
    let line = format!("cofferdam: {line}\n");
    io::stderr().write_all(line.as_bytes()).ok();
}

pub(crate) fn open_state(context: &Context) -> Result<StateDir, Failure> {
    StateDir::open(&context.state_dir).map_err(|error| {
        not_run(error)
            .hint("Cofferdam keeps its records there: make it writable, or set XDG_STATE_HOME")
    })
}

/// A failure before or around the command: nothing was run, or nothing can be said about it.
pub(crate) fn not_run(error: impl Into<anyhow::Error>) -> Failure {
    Failure::new(Exit::NotRun, error)
}
