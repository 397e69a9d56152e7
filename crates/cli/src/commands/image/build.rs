//! `cofferdam image build`, and the build that a run begins with where settings ask for one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use cofferdam_core::config::{Entries, Key, Layer, Settings};
use cofferdam_core::inert::Inert;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::{Fetch, Network};
use cofferdam_sandbox::image::{BuildError, Built, Draft, DraftError, Order, engine};
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use crate::asking::say;
use crate::confirm;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings::trust::TrustStore;
use crate::settings::{self, real};

/// Build the project's image.
///
/// What it is built from is the Dockerfile, the files that it copies, and its bases. Where none of them has
/// changed, nothing is done. A Dockerfile that changed since you approved it is not built.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam image build --pull missing --network bridge    fetch the base and let instructions fetch packages
  cofferdam image build                                    again, with what is there
  cofferdam image build --approve                          after you have read what changed
  cofferdam image build --file Dockerfile.dev --json")]
pub(crate) struct BuildArgs {
    /// Directory of the project.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// The Dockerfile, in place of the one that settings name.
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// What instructions can reach: none, bridge, host. No wider than policy.build_network.
    #[arg(long, value_name = "NETWORK")]
    network: Option<String>,
    /// When a base is fetched: never, missing, always.
    #[arg(long, value_name = "WHEN")]
    pull: Option<String>,
    /// Whose engine: docker, podman, auto.
    #[arg(long, value_name = "BACKEND")]
    sandbox: Option<String>,
    /// How long it may take.
    #[arg(long, value_name = "SPAN")]
    timeout: Option<String>,
    /// Say yes to the Dockerfile as it stands.
    #[arg(long)]
    approve: bool,
    /// Build even where nothing has changed.
    #[arg(long)]
    anew: bool,
    /// Print what was built as JSON.
    #[arg(long)]
    json: bool,
    /// Do not tell what is being done.
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(
    args: &BuildArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let root = real(&context.resolve(&args.directory))?;
    let resolved = settings::load(context, &root, flags(args, context)?)
        .map_err(|error| error.failure(Exit::Failed))?;
    resolved.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
    let settings = resolved.settings();
    let network = network(&settings)
        .map_err(|refusal| Failure::new(Exit::Failed, refusal.clone()).hint(refusal.remedy))?;
    let draft = draft(&settings, &root, network)?;
    draft.permitted().map_err(failure)?;
    if !approved(&draft, context)? {
        approve(args, &draft, context)?;
    }
    let around = context.engines();
    let engine = engine(settings.sandbox.backend, &around)
        .map_err(|lack| Failure::new(Exit::Failed, anyhow!("{}", lack.reason)).hint(lack.remedy))?;
    let order = Order {
        draft: &draft,
        engine: &engine,
        around: &around,
        fetch: fetch(&settings),
        timeout: settings.images.timeout,
        actor: &context.actor,
        anew: args.anew,
    };
    let state = StateDir::open(&context.state_dir)?;
    let built = order.carry_out(&state, &mut |line| {
        if !args.quiet {
            say(line);
        }
    });
    let built = built.map_err(failure)?;
    report(args, &built, out)?;
    Ok(Exit::Fine)
}

fn report(args: &BuildArgs, built: &Built, out: &mut dyn Write) -> io::Result<()> {
    let Built { build, is_unchanged } = built;
    if args.json {
        let value = object!({
            "image": build.image, "id": build.id, "inputs": build.inputs, "dockerfile": build.dockerfile,
            "built_at": build.built_at, "unchanged": is_unchanged,
        });
        return json::print(out, &value);
    }
    let word = if *is_unchanged { "unchanged" } else { "built" };
    writeln!(out, "{word}: {} {}", build.image, build.id)
}

fn flags(args: &BuildArgs, context: &Context) -> Result<Entries, Failure> {
    let file = args.file.as_ref().map(|file| context.resolve(file).to_string_lossy().into_owned());
    let mut entries = Entries::default();
    for (key, flag, text) in [
        (Key::ImagesDockerfile, "--file", &file),
        (Key::ImagesNetwork, "--network", &args.network),
        (Key::ImagesTimeout, "--timeout", &args.timeout),
        (Key::SandboxPull, "--pull", &args.pull),
        (Key::SandboxBackend, "--sandbox", &args.sandbox),
    ] {
        if let Some(text) = text {
            let set = entries.set_text(key, text, Layer::Flag, flag);
            set.map_err(|error| Failure::usage(error.to_string()))?;
        }
    }
    Ok(entries)
}

/// What a build may reach, by the host owner's word.
pub(crate) fn network(settings: &Settings) -> Result<Network, Refusal> {
    let (asked, widest) = (settings.images.network, settings.policy.build_network);
    let refuse = |rule, message: String, remedy: String| {
        Err(Refusal { rule, field: Key::ImagesNetwork.name().to_owned(), message, remedy })
    };
    if asked == Network::Allow {
        let message = "a build cannot be held to named hosts".to_owned();
        return refuse(Rule::ValueForm, message, "use none or bridge".to_owned());
    }
    if asked < widest {
        let message = format!("{asked} is wider than policy.build_network, which is {widest}");
        return refuse(
            Rule::NetworkAllowed,
            message,
            "ask the host owner for a wider one".to_owned(),
        );
    }
    Ok(asked)
}

pub(crate) fn fetch(settings: &Settings) -> Fetch {
    Fetch { pull: settings.sandbox.pull, timeout: settings.sandbox.pull_timeout }
}

pub(crate) fn draft(settings: &Settings, root: &Path, network: Network) -> Result<Draft, Failure> {
    let file = root.join(&settings.images.dockerfile);
    Draft::read(root, &file, network, &settings.sandbox.blocked).map_err(failure)
}

/// Whether these very bytes were said yes to.
pub(crate) fn approved(draft: &Draft, context: &Context) -> Result<bool, Failure> {
    Ok(TrustStore::beneath(&context.state_dir).has_approved(&draft.path, &draft.approval())?)
}

fn approve(args: &BuildArgs, draft: &Draft, context: &Context) -> Result<(), Failure> {
    let shown = Inert::path(&draft.path).to_string();
    // A program inside must not speak for its user. Its state directory is not the host's either.
    if context.variable("COFFERDAM_RUN").is_some() {
        let failure =
            Failure::new(Exit::Failed, anyhow!("a Dockerfile is approved from outside a sandbox"));
        return Err(failure.hint("run this in a terminal of the host"));
    }
    if !args.approve {
        let message = format!("{shown} is not what you approved, or you have not approved it yet");
        let failure = Failure::new(Exit::Undecided, anyhow!(message))
            .hint("read it, then `cofferdam image build --approve`");
        if !confirm::is_asked() || args.json {
            return Err(failure);
        }
        let text = format!("{}\n", Inert::block(&draft.text));
        io::stderr().write_all(text.as_bytes())?;
        if !confirm::ask(&format!("build {shown} as it stands above?"))? {
            return Err(failure);
        }
    }
    let store = TrustStore::beneath(&context.state_dir);
    Ok(store.approve(&draft.path, &draft.approval())?)
}

pub(crate) fn failure(error: impl Into<BuildError>) -> Failure {
    let error = error.into();
    let hint = match &error {
        BuildError::Draft(DraftError::Missing(_)) => "`cofferdam init` writes one",
        BuildError::Draft(DraftError::Outside(_)) => {
            "name a file of the project (images.dockerfile)"
        }
        BuildError::Draft(_) => "change the file",
        BuildError::Context(_) => "look at what COPY names and at .dockerignore",
        BuildError::NoBase(_) => "fetch it with --pull missing",
        BuildError::UnknownBase(_) | BuildError::Triggers(_) => "use another base",
        BuildError::Network => "use --network none or bridge",
        BuildError::Engine(_) => {
            "where an instruction fetches something, the build needs a network: --network bridge"
        }
        BuildError::Slow(_) => "give it longer with --timeout (images.timeout)",
        BuildError::State(_) => "make the state directory writable",
    };
    Failure::new(Exit::Failed, error).hint(hint)
}
