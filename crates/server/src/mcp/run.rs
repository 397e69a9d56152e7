//! Runs commands of the session for tools.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
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
}

impl Done {
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.job.outcome.as_ref().filter(|o| o.class == OutcomeClass::Exited)?.exit_code
    }
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

/// Runs a command to its end. Canceled, it is killed with all that it started.
pub(super) async fn run(
    client: Client,
    spec: ExecSpec,
    input: Option<Vec<u8>>,
    call: Call,
) -> Result<Done, String> {
    let dir = client.dir().to_owned();
    let begun = blocking(move || begin(&client, &spec, input)).await?;
    let watched = Arc::new(begun.map_err(|error| error.to_string())?);
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
    let read = blocking(move || kept_output(&dir, &job).map(|kept| (job, kept))).await?;
    let (job, [stdout, stderr]) = read.map_err(|error| error.to_string())?;
    Ok(Done { job, stdout, stderr })
}

fn begin(client: &Client, spec: &ExecSpec, input: Option<Vec<u8>>) -> Result<Watched, ClientError> {
    let Some(input) = input else { return client.exec(spec, None, Given::default()) };
    let (reader, mut writer) =
        io::pipe().map_err(|source| ClientError::Io { action: "make a pipe", source })?;
    let given = Given { stdin: Some(reader.as_fd()), ..Given::default() };
    let watched = client.exec(spec, None, given)?;
    drop(reader);
    // A command that does not read it all says so by its end.
    std::thread::spawn(move || writer.write_all(&input));
    Ok(watched)
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
