//! A server that a command speaks to: where it is, and by which token.
//!
//! The token comes from a file or from `COFFERDAM_TOKEN`, never from the command line, where everybody on the host
//! could read it. On the host of the server its own first token is found by itself.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use cofferdam_core::control::problem::Problem;
use cofferdam_core::inert::Inert;
use cofferdam_server::client::{Address, Client, ClientError, OpenError, Waiting};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// How a server is reached.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteArgs {
    /// URL of the server.
    #[arg(
        long,
        value_name = "URL",
        env = "COFFERDAM_SERVER",
        default_value = "http://127.0.0.1:7411"
    )]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// Which part of a long list.
#[derive(Debug, Clone, Args)]
pub(crate) struct PageArgs {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    /// Go on after the page that said this is next.
    #[arg(long, value_name = "NEXT")]
    pub(crate) after: Option<String>,
}

impl PageArgs {
    /// Says how to go on, where there is more.
    pub(crate) fn more(next: Option<&String>, out: &mut dyn Write) -> io::Result<()> {
        next.map_or(Ok(()), |next| writeln!(out, "more: --after {}", Inert::line(next)))
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TokenArgs {
    /// File that holds the token [default: COFFERDAM_TOKEN, or the first token of a server on this host].
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Certificate of the authority that vouches for the server, in PEM [default: those of the system].
    #[arg(long, value_name = "FILE", env = "COFFERDAM_CA")]
    ca: Option<PathBuf>,
}

/// More than any token has.
const MAX_TOKEN: u64 = 4096;

impl TokenArgs {
    pub(crate) fn address(&self, url: &str, context: &Context) -> Result<Address, Failure> {
        let ca = self.ca.as_ref().map(|path| {
            let path = context.resolve(path);
            std::fs::read(&path).with_context(|| format!("cannot read {}", Inert::path(&path)))
        });
        Ok(Address { url: url.to_owned(), token: self.token(context)?, ca: ca.transpose()? })
    }

    fn token(&self, context: &Context) -> Result<String, Failure> {
        if let Some(path) = &self.token_file {
            return Ok(read(&context.resolve(path))?);
        }
        if let Some(token) = context.variable("COFFERDAM_TOKEN").filter(|token| !token.is_empty()) {
            let token = token.to_str().ok_or_else(|| anyhow!("COFFERDAM_TOKEN is not text"))?;
            return Ok(token.trim().to_owned());
        }
        let own = context.state_dir.join("server/admin-token");
        match own.exists() {
            true => Ok(read(&own)?),
            false => Err(Failure::from(anyhow!("there is no token to show to the server"))
                .hint("set COFFERDAM_TOKEN, or name a file with --token-file")),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let opened = File::open(path).and_then(|file| file.take(MAX_TOKEN).read_to_string(&mut text));
    opened.with_context(|| format!("cannot read the token in {}", Inert::path(path)))?;
    Ok(text.trim().to_owned())
}

impl RemoteArgs {
    pub(crate) fn open(&self, context: &Context) -> Result<Remote, Failure> {
        let address = self.token.address(&self.server, context)?;
        Ok(Remote { waiting: Waiting::open(&address).map_err(not_opened)? })
    }
}

fn not_opened(error: OpenError) -> Failure {
    match error {
        OpenError::Address(error) => Failure::new(Exit::Usage, error),
        error => error.into(),
    }
}

/// A server that can be asked.
#[derive(Debug)]
pub(crate) struct Remote {
    waiting: Waiting,
}

impl Remote {
    pub(crate) fn client(&self) -> &Client {
        self.waiting.client()
    }

    /// Waits for an answer; a no becomes a failure with all that the server says about it.
    pub(crate) fn ask<T>(
        &self,
        question: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, Failure> {
        self.waiting.wait(question).map_err(failed)
    }

    /// Waits for whatever it is.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.waiting.wait(work)
    }
}

/// For a server that was asked for TLS and does not speak it.
pub(crate) const CLEAR: &str =
    "write http:// if it is on this host, or start the server with --tls-cert and --tls-key";

pub(crate) fn failed(error: ClientError) -> Failure {
    match error {
        ClientError::Refused(problem) => refused(&problem),
        error @ ClientError::Clear { .. } => Failure::new(Exit::Failed, error).hint(CLEAR),
        error if error.is_untrusted() => Failure::new(Exit::Failed, error)
            .hint("name the authority that vouches for the server with --ca or COFFERDAM_CA"),
        error @ ClientError::Unreachable { .. } => Failure::new(Exit::Failed, error)
            .hint("look whether `cofferdam serve` runs there, and name it with --server or COFFERDAM_SERVER"),
        error => Failure::new(Exit::Failed, error),
    }
}

fn refused(problem: &Problem) -> Failure {
    let mut text = format!("{}: {}", problem.title, problem.detail);
    if let Some(field) = &problem.field {
        text.push_str(&format!("\n  field: {field}"));
    }
    if let Some(rule) = &problem.rule {
        text.push_str(&format!("\n  rule: {rule}"));
    }
    // Wrong input is wrong usage; what stands in the way is for somebody to decide.
    let exit = match problem.status {
        400 | 422 => Exit::Usage,
        _ => Exit::Failed,
    };
    let failure = Failure::new(exit, anyhow::Error::msg(text));
    let remedy = match (&problem.remedy, problem.status) {
        (Some(remedy), _) => Some(remedy.clone()),
        (None, 401) => Some("show another token, with COFFERDAM_TOKEN or --token-file".to_owned()),
        _ => None,
    };
    remedy.into_iter().fold(failure, Failure::hint)
}
