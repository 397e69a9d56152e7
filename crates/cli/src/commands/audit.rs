//! `cofferdam audit`: proves that the record is what was written.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use cofferdam_core::chain::{Broken, Head, Known, Verifier};
use cofferdam_core::record::Anchor;
use cofferdam_sandbox::events::{Journal, VerifyError, verify};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;
use serde_json::json as object;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Verify and export the audit log.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam audit verify
  cofferdam audit export --run last
  cofferdam audit head >> anchors.txt")]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Check that no record was changed, removed, added or moved.
    ///
    /// Offline. The chain is checked against the head that was kept beside it, against the latest event
    /// of every run, and against the anchors that you kept elsewhere.
    #[command(after_help = "Examples:
  cofferdam audit verify
  cofferdam audit verify --anchor 42:6f1c…      # a head that you wrote down before
  cofferdam audit verify --file exported.jsonl")]
    Verify {
        /// A record known from before, as `SEQ:HASH` (repeatable).
        #[arg(long, value_name = "SEQ:HASH")]
        anchor: Vec<String>,
        /// An exported log instead of our own.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        #[arg(long)]
        json: bool,
    },
    /// Write the log out, byte for byte, or the events of one run.
    #[command(after_help = "Examples:
  cofferdam audit export > audit.jsonl
  cofferdam audit export --run last --output run.jsonl")]
    Export {
        /// Only the events of this run; such a part cannot be verified on its own.
        #[arg(long)]
        run: Option<String>,
        /// To a file instead of standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print the head of the chain, to be kept elsewhere as an anchor.
    #[command(after_help = "Examples:
  cofferdam audit head
  cofferdam audit verify --anchor \"$(tail -n1 anchors.txt)\"      # what `audit head` said before")]
    Head,
}

pub(crate) fn run(
    args: &AuditArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let state = StateDir::open(&context.state_dir)?;
    match &args.command {
        AuditCommand::Verify { anchor, file, json: as_json } => {
            let anchors =
                anchor.iter().map(|text| parse_anchor(text)).collect::<Result<Vec<_>, _>>()?;
            let mut torn_bytes = 0;
            let answer = match file {
                Some(path) => verify_file(&context.resolve(path), anchors)?,
                None => match verify(&state, &anchors) {
                    Ok(report) => {
                        torn_bytes = report.torn_bytes;
                        Ok(report.head)
                    }
                    Err(VerifyError::Broken(broken)) => Err(broken),
                    Err(VerifyError::State(error)) => return Err(error.into()),
                },
            };
            report(&answer, torn_bytes, *as_json, out)
        }
        AuditCommand::Export { run, output } => {
            let lines = export(&state, run.as_deref(), context)?;
            match output {
                Some(path) => fs::write(context.resolve(path), lines)
                    .with_context(|| format!("cannot write {}", path.display()))?,
                None => out.write_all(lines.as_bytes())?,
            }
            Ok(Exit::Fine)
        }
        AuditCommand::Head => {
            let head = verify(&state, &[])?.head;
            writeln!(out, "{}:{}", head.seq, head.hash)?;
            Ok(Exit::Fine)
        }
    }
}

fn report(
    answer: &Result<Head, Broken>,
    torn_bytes: u64,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match answer {
        Ok(head) if as_json => {
            let mut answer = object!({ "ok": true, "head": head });
            if torn_bytes > 0 {
                answer["torn_bytes"] = torn_bytes.into();
            }
            json::print(out, &answer)?;
        }
        Ok(head) => {
            writeln!(out, "the audit log holds: {} records, head {}", head.seq, head.hash)?;
            if torn_bytes > 0 {
                writeln!(
                    out,
                    "its last {torn_bytes} bytes are the beginning of a record whose writing was interrupted; the next \
                     record takes their place, and says so"
                )?;
            }
        }
        Err(broken) if as_json => {
            let message = broken.to_string();
            json::print(out, &object!({ "ok": false, "first_bad": broken, "message": message }))?;
        }
        Err(broken) => {
            return Err(Failure::new(
                Exit::Failed,
                anyhow!("the audit log does not hold: {broken}"),
            )
            .hint("compare with a copy from `cofferdam audit export` that you kept elsewhere"));
        }
    }
    Ok(if answer.is_ok() { Exit::Fine } else { Exit::Failed })
}

fn verify_file(
    path: &std::path::Path,
    anchors: Vec<Known>,
) -> Result<Result<Head, Broken>, Failure> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut verifier = Verifier::new(anchors);
    for line in text.strip_suffix(b"\n").unwrap_or(&text).split(|b| *b == b'\n') {
        if text.is_empty() {
            break;
        }
        if let Err(broken) = verifier.feed(&String::from_utf8_lossy(line)) {
            return Ok(Err(broken));
        }
    }
    Ok(verifier.finish())
}

fn export(state: &StateDir, run: Option<&str>, context: &Context) -> Result<String, Failure> {
    let (lines, _) = Journal::new(state).read_from(0)?;
    let wanted = match run {
        Some(text) => Some(format!("\"run\":\"{}\"", Store::new(state).find(text, &context.cwd)?)),
        None => None,
    };
    let lines = lines.into_iter().filter(|line| wanted.as_ref().is_none_or(|w| line.contains(w)));
    Ok(lines.map(|line| line + "\n").collect())
}

fn parse_anchor(text: &str) -> Result<Known, Failure> {
    let parsed = text.split_once(':').and_then(|(seq, hash)| {
        let seq = seq.parse().ok()?;
        let good = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        good.then(|| Anchor { seq, hash: hash.to_ascii_lowercase() })
    });
    let anchor = parsed.ok_or_else(|| {
        Failure::usage(format!("{text:?} is not an anchor"))
            .hint("write SEQ:HASH, as `cofferdam audit head` prints it")
    })?;
    Ok(Known { anchor, from: "the anchor you gave".to_owned() })
}
