//! `cofferdam serve`: the control plane.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cofferdam_core::config::Anchor;
use cofferdam_core::inert::Inert;
use cofferdam_core::quantity::Span;
use cofferdam_sandbox::state::StateDir;
use cofferdam_server::http::{HttpSettings, ListenError, TlsFiles};
use cofferdam_server::log::{self, LogFormat};
use cofferdam_server::plane::PlaneSettings;
use cofferdam_server::runner::Setup;
use cofferdam_server::serve::{ServeError, Serving, Started, serve};
use cofferdam_server::store::{Database, StoreError};

use super::runner::RunnerLimits;
use crate::asking::places;
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings;

/// Serve the control plane: projects, tasks, workflows and approvals over HTTP, with a runner inside.
///
/// On its first start it makes a token of scope `admin`, shows it once and keeps it in a file that only you can read. It
/// listens on the loopback; anywhere else it needs a certificate. Ctrl-C or SIGTERM ends it: what was begun is
/// finished, and a second one ends it at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam serve
  cofferdam serve --listen 127.0.0.1:8080 --log json
  cofferdam serve --database postgres://cofferdam@db.example.org/cofferdam
  cofferdam serve --listen 0.0.0.0:7411 --host-name ci.example.org --tls-cert chain.pem --tls-key key.pem")]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7411", env = "COFFERDAM_LISTEN")]
    listen: SocketAddr,
    /// Where everything is kept: a PostgreSQL URL, or a file [default: server/plane.db in the state directory].
    #[arg(long, value_name = "URL", env = "COFFERDAM_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// Another name that the server is reached by, beside localhost; may be given more than once.
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Certificate chain in PEM; needed beyond the loopback.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Most tasks that runners may hold at once.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    max_running: u32,
    /// Most requests a second by one token, on average; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = 5000)]
    rate_limit: u32,
    /// How long a runner may be silent before what it runs counts as lost.
    #[arg(long, value_name = "SPAN", default_value = "30s")]
    lease: Span,
    /// Have no runner inside: tasks wait for others, which `cofferdam runner` starts.
    #[arg(long)]
    no_runner: bool,
    /// How many tasks the runner inside runs at once [default: two for each processor, and at least 4].
    #[arg(long, value_name = "N", conflicts_with = "no_runner", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    capacity: Option<u32>,
    /// How the log is written, on standard error.
    #[arg(long, value_name = "FORM", default_value = "text")]
    log: LogForm,
    /// Print where it listens as one line of JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogForm {
    Text,
    Json,
}

pub(crate) fn run(args: &ServeArgs, context: &Context) -> Result<Exit, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    let dir = state.server()?;
    let database = match &args.database {
        Some(text) => {
            text.parse().map_err(|error| Failure::new(Exit::Usage, anyhow::Error::new(error)))?
        }
        None => Database::Sqlite(dir.join("plane.db")),
    };
    let format = match args.log {
        LogForm::Text => LogFormat::Text,
        LogForm::Json => LogFormat::Json,
    };
    log::install(format, Box::new(io::stderr()))?;
    let serving = Serving {
        http: HttpSettings {
            listen: args.listen,
            tls: args
                .tls_cert
                .clone()
                .zip(args.tls_key.clone())
                .map(|(certificate, key)| TlsFiles { certificate, key }),
            host_names: args.host_name.clone(),
            rate: Some(args.rate_limit).filter(|rate| *rate > 0),
        },
        plane: PlaneSettings {
            head_file: Some(database.head_file(&dir)),
            ..plane_settings(args, context)?
        },
        database,
        token_file: dir.join("admin-token"),
        runner: inside(args, context)?,
    };
    serve(serving, |started| announce(args, started)).map_err(|error| failure(error, args))?;
    Ok(Exit::Fine)
}

/// The runner inside. When the server ends, what it runs has a moment to end, too.
fn inside(args: &ServeArgs, context: &Context) -> Result<Option<Setup>, Failure> {
    const NAME: &str = "inside";
    const GRACE: Span = Span::secs(30);
    if args.no_runner {
        return Ok(None);
    }
    let (name, capacity) = (Some(NAME.to_owned()), args.capacity);
    RunnerLimits { name, capacity, grace: GRACE }.setup(&[], context).map(Some)
}

const SHORTEST_LEASE: Duration = Duration::from_secs(1);

fn plane_settings(args: &ServeArgs, context: &Context) -> Result<PlaneSettings, Failure> {
    // No project is meant here: what a task's own project says, its runner reads.
    let anchor =
        Anchor { base: &context.config_dir, home: &context.home, workspace: &context.home };
    let host =
        settings::host_entries(context, &anchor).map_err(|error| error.failure(Exit::Failed))?;
    let places = places(context);
    let max_running = usize::try_from(args.max_running)?;
    let lease = Duration::from_millis(args.lease.millis);
    if lease < SHORTEST_LEASE {
        return Err(Failure::usage("--lease: a runner needs at least 1s to be heard"));
    }
    let heartbeat = lease / 3;
    Ok(PlaneSettings { host, places, max_running, lease, heartbeat, ..PlaneSettings::default() })
}

/// Says where it is, to people or to a program. The token is shown this once.
fn announce(args: &ServeArgs, started: &Started<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if args.json {
        json::print_line(&mut out, started)?;
        return out.flush();
    }
    writeln!(out, "listening on {}", started.url)?;
    writeln!(out, "database     {}", Inert::line(&started.database))?;
    let file = Inert::path(started.token_file);
    match &started.token {
        Some(token) => {
            writeln!(out, "admin token  {token}\n             shown this once, and kept in {file}")?
        }
        None => writeln!(out, "admin token  in {file}, if it is still the first one")?,
    }
    writeln!(out, "stop it with Ctrl-C")?;
    out.flush()
}

fn failure(error: ServeError, args: &ServeArgs) -> Failure {
    let hint = match &error {
        ServeError::Listen(ListenError::NeedsTls(_)) => {
            Some("give --tls-cert and --tls-key, or listen on 127.0.0.1 and put a proxy with TLS before it".to_owned())
        }
        ServeError::Listen(ListenError::Listen { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
            Some(format!(
                "stop what listens there (`ss -ltnp 'sport = :{}'` names it), or choose another address with --listen",
                args.listen.port()
            ))
        }
        ServeError::Listen(ListenError::Listen { .. }) => {
            Some("choose an address of this host, and a port above 1023 where you are not root, with --listen".to_owned())
        }
        ServeError::Listen(ListenError::Tls(_)) => {
            Some("both files are PEM: the chain with the server's own certificate first, and its key".to_owned())
        }
        ServeError::Listen(ListenError::Name(_)) => return Failure::new(Exit::Usage, error),
        ServeError::Store(StoreError::Head { .. }) => {
            Some("see what happened to it; removed, the end of the chain counts from now on as it is".to_owned())
        }
        ServeError::Store(StoreError::InUse { .. }) => {
            Some("stop the other server, or give this one its own file with --database".to_owned())
        }
        ServeError::Store(_) if args.database.is_some() => {
            Some("see that --database names a database that is there and may be written".to_owned())
        }
        ServeError::Store(_) => Some(format!(
            "see that the file can be read and written; moved away, `{} serve` begins anew without what it holds",
            program()
        )),
        _ => None,
    };
    let failure = Failure::new(Exit::Failed, error);
    hint.into_iter().fold(failure, Failure::hint)
}
