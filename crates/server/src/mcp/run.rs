//! Runs commands of the session for tools.

use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::plan::ExecSpec;
use cofferdam_sandbox::runs::KeptOutput;
use cofferdam_sandbox::session::{Client, ClientError, Given, Job, Watched, kept_output};
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

/// A command that has ended, and what is kept of its output.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) job: Job,
    pub(super) stdout: KeptOutput,
    pub(super) stderr: KeptOutput,
    /// The stream that was asked for as it is; absent where not all of it came.
    pub(super) exact: Option<Vec<u8>>,
}

impl Done {
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.job.outcome.as_ref().filter(|o| o.class == OutcomeClass::Exited)?.exit_code
    }
}

/// What a command reads, and what is wanted of what it writes. Its output is recorded in any case, without the values of
/// secrets and without the middle of what is long: fit to be shown, and nothing to be written back.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) input: Option<Vec<u8>>,
    pub(super) exact: Option<Exact>,
}

/// The stream that is also wanted byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exact {
    Stdout,
    Stderr,
}

/// Where a call came from: what cancels it, and whom to tell how far it is.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) cancel: CancellationToken,
    pub(super) context: Option<RequestContext<RoleServer>>,
}

/// The signal that nothing survives.
pub(super) const KILL: i32 = 9;
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Bytes of an exact stream, at most. Scripts that are asked for one say less.
const MOST_EXACT: u64 = 16 << 20;
/// How long an exact stream may stay open after its command: something else holds it then.
const LINGERS: Duration = Duration::from_secs(10);

/// Runs a command to its end. Canceled, it is killed with all that it started.
pub(super) async fn run(
    client: Client,
    spec: ExecSpec,
    ends: Ends,
    call: Call,
) -> Result<Done, String> {
    let dir = client.dir().to_owned();
    let exact = ends.exact;
    let begun = blocking(move || begin(&client, &spec, ends)).await?;
    let (watched, heard) = begun.map_err(|error| error.to_string())?;
    let watched = Arc::new(watched);
    let waiting = Arc::clone(&watched);
    let mut end = std::pin::pin!(blocking(move || waiting.wait()));
    let began = std::time::Instant::now();
    let mut is_canceled = false;
    let job = loop {
        tokio::select! {
            ended = &mut end => break ended?.map_err(|error| error.to_string())?,
            () = call.cancel.cancelled(), if !is_canceled => {
                is_canceled = true;
                // One that has just ended needs no signal.
                watched.signal(KILL).ok();
            }
            () = tokio::time::sleep(TELL_EVERY) => tell(&call, began.elapsed()).await,
        }
    };
    let wrote = match exact {
        Some(Exact::Stderr) => job.output.stderr_bytes,
        Some(Exact::Stdout) | None => job.output.stdout_bytes,
    };
    let read = blocking(move || {
        let exact = heard.and_then(|heard| heard.recv_timeout(LINGERS).ok());
        kept_output(&dir, &job).map(|kept| (job, kept, exact))
    });
    let (job, [stdout, stderr], exact) = read.await?.map_err(|error| error.to_string())?;
    let exact = exact.filter(|bytes| bytes.len() as u64 == wrote);
    Ok(Done { job, stdout, stderr, exact })
}

type Heard = Receiver<Vec<u8>>;

fn begin(
    client: &Client,
    spec: &ExecSpec,
    ends: Ends,
) -> Result<(Watched, Option<Heard>), ClientError> {
    let pipe = || io::pipe().map_err(|source| ClientError::Io { action: "make a pipe", source });
    let (reader, input) = match ends.input {
        Some(input) => {
            let (reader, writer) = pipe()?;
            (Some(reader), Some((writer, input)))
        }
        None => (None, None),
    };
    let (heard, writer) = match ends.exact {
        Some(_) => {
            let (reader, writer) = pipe()?;
            (Some(hear(reader)), Some(writer))
        }
        None => (None, None),
    };
    let output = |exact| writer.as_ref().filter(|_| ends.exact == Some(exact)).map(|w| w.as_fd());
    let given = Given {
        stdin: reader.as_ref().map(|reader| reader.as_fd()),
        stdout: output(Exact::Stdout),
        stderr: output(Exact::Stderr),
    };
    let watched = client.exec(spec, None, given)?;
    if let Some((mut writer, input)) = input {
        // A command that does not read it all says so by its end.
        std::thread::spawn(move || writer.write_all(&input));
    }
    Ok((watched, heard))
}

/// Reads on a thread of its own, before the command begins: nothing is to wait for it.
fn hear(reader: PipeReader) -> Heard {
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if reader.take(MOST_EXACT).read_to_end(&mut bytes).is_ok() {
            // Whoever waited may have given up.
            tell.send(bytes).ok();
        }
    });
    heard
}

/// Clients that asked for it are told that it goes on.
async fn tell(call: &Call, elapsed: Duration) {
    let Some(context) = &call.context else { return };
    let Some(token) = context.meta.get_progress_token() else { return };
    let seconds = elapsed.as_secs();
    let message = format!("running for {seconds} s");
    #[expect(clippy::cast_precision_loss, reason = "no command runs for so many seconds")]
    let progress = ProgressNotificationParam::new(token, seconds as f64).with_message(message);
    // One who does not listen any more is noticed elsewhere.
    context.peer.notify_progress(progress).await.ok();
}

/// Does what may block on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
}
