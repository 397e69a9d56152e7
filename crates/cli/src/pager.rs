//! A program that shows long text a page at a time.
//!
//! `COFFERDAM_PAGER`, then `PAGER`, then `less -FRX` where it is installed. The words are split at spaces
//! and started as they are: no shell reads them. What we write to it is inert already, so that a pager
//! which passes everything on to the terminal passes on nothing but our colours.

use std::io::{self, BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use signal_hook::consts::SIGINT;

use crate::context::Context;
use crate::failure::Failure;

/// Runs `show` with a writer to the pager, and waits until the reader has closed it. Without a pager,
/// with `out`.
pub(crate) fn paged(
    context: &Context,
    out: &mut dyn Write,
    show: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(mut pager) = start(context)? else { return show(out) };
    // Interrupts are the pager's: it stops a search, and leaving us would leave it without its terminal.
    let ours = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)))?;
    let input = pager.stdin.take().context("the pager takes no input")?;
    let mut input = BufWriter::new(input);
    let shown = show(&mut input).and_then(|()| Ok(input.flush()?));
    // Closes its input, which is how it learns that this was all.
    drop(input);
    pager.wait().context("cannot wait for the pager")?;
    signal_hook::low_level::unregister(ours);
    shown
}

fn start(context: &Context) -> Result<Option<Child>, Failure> {
    let named = ["COFFERDAM_PAGER", "PAGER"].iter().find_map(|name| context.variable(name));
    let line = match named {
        None => "less".to_owned(),
        Some(line) => line.to_str().unwrap_or_default().to_owned(),
    };
    let mut words = line.split_whitespace();
    let program = match words.next() {
        None | Some("cat") => return Ok(None),
        Some(program) => program,
    };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if context.variable("LESS").is_none() {
        // Leave if it fits on one page, show colours, keep the text on the screen.
        command.env("LESS", "FRX");
    }
    match command.spawn() {
        Ok(child) => Ok(Some(child)),
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::from(
            anyhow::Error::from(error).context(format!("cannot start the pager {program}")),
        )
        .hint("set COFFERDAM_PAGER to another one, or to nothing")),
    }
}
