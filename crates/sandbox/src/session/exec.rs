//! The life of one command in a session: planned, written down, started, watched, told.

use std::cell::Cell;
use std::os::fd::{AsFd as _, OwnedFd};

use cofferdam_core::event::EventKind;
use cofferdam_core::inert::Inert;
use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::{ExecSpec, Plan};
use cofferdam_core::quantity::ByteSize;
use cofferdam_core::record::{KeptStream, Output, Usage};
use cofferdam_core::redact::Redactor;
use cofferdam_native::channel::Channel;
use cofferdam_native::confined::Guest;
use cofferdam_native::process::StdinKind;
use cofferdam_native::supervise::{Notice, Passage, Rest, StreamName, Watch, attend};

use super::hall::Hall;
use super::job::output_path;
use super::petitions::Petitions;
use super::wire::{Stay, Stream, Told, bytes};
use crate::backend::bounds::unwatched_disk;
use crate::backend::local::not_started;
use crate::backend::native::{Maker, judge, stdin_kind};
use crate::run::redactor;
use crate::runs::OutputKeeper;
use crate::shell;

/// A command that somebody asks for.
pub(super) struct Asked {
    pub(super) spec: ExecSpec,
    pub(super) name: Option<String>,
    pub(super) stay: Stay,
    pub(super) streams: Given,
}

/// The client's own streams. The program gets none of them but an input that is a pipe.
#[derive(Debug, Default)]
pub(super) struct Given {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

impl Given {
    pub(super) fn new(kinds: &[Stream], descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut given = Self::default();
        if kinds.len() != descriptors.len() {
            return None;
        }
        for (kind, fd) in kinds.iter().zip(descriptors) {
            let place = match kind {
                Stream::Stdin => &mut given.stdin,
                Stream::Stdout => &mut given.stdout,
                Stream::Stderr => &mut given.stderr,
            };
            *place = Some(fd);
        }
        match given.stdin.as_ref().map(|fd| stdin_kind(Some(fd.as_fd()))) {
            None | Some(StdinKind::Inherit) => Some(given),
            Some(StdinKind::Empty) => Some(Self { stdin: None, ..given }),
            Some(StdinKind::Pipe | StdinKind::Terminal(_)) => None,
        }
    }
}

/// Runs it to its end, and tells the client.
pub(super) fn exec(hall: &Hall<'_>, asked: Asked, client: Channel) {
    let Asked { spec, name, stay, streams } = asked;
    // A client that does not listen any more needs no answer.
    let tell = |told: &Told| client.send(&bytes(told), &[]).ok();
    let rules = &hall.plan.commands;
    let approval = if spec.approval.is_asked() { rules.approval } else { spec.approval };
    let obeyed = shell::obey(&rules.policy, approval, &spec.command);
    let plan = match obeyed.and_then(|()| spec.plan(hall.plan)) {
        Ok(plan) => plan,
        Err(refusal) => {
            let (rule, field) = (refusal.rule, refusal.field.clone());
            let message = refusal.message.clone();
            hall.note(EventKind::Rejected { rule, field, message, evidence: None });
            tell(&Told::Refused(refusal));
            return;
        }
    };
    let redactor = redactor(&plan);
    let (exec, arriving) = match hall.begin(redactor.args(&plan.command), name.clone()) {
        Ok(begun) => begun,
        Err(reason) => {
            tell(&Told::Failed(reason));
            return;
        }
    };
    // Nothing is run that was not written down.
    let (guest, failed) = match hall.write_down(started(exec, name, &spec, &plan, &redactor)) {
        Ok(()) => match hall.room.start(&plan, hall.run, exec, streams.stdin) {
            Ok(guest) => (Some(guest), None),
            Err(error) => (None, Some(not_started(&error).outcome)),
        },
        Err(error) => {
            (None, Some(Outcome::ended(OutcomeClass::SandboxFailure, None, error.to_string())))
        }
    };
    let mut kept = Kept::new(hall, exec, &plan, &redactor);
    let mut beginning = Beginning { client: &client, exec, is_told: false };
    let leader = guest.as_ref().map(|guest| guest.leader);
    let stays = stay == Stay::ToTheEnd;
    if !stays {
        beginning.tell();
        if guest.is_some() {
            tell(&Told::Done);
        }
    }
    let (outcome, usage, rest) = match (guest, failed) {
        (Some(guest), _) => {
            let waiting = stays.then_some(&client);
            let passage = Passage {
                stdin: None,
                stdout: streams.stdout.as_ref().filter(|_| stays).map(|fd| fd.as_fd()),
                stderr: streams.stderr.as_ref().filter(|_| stays).map(|fd| fd.as_fd()),
            };
            let petitions = Petitions { arriving, client: waiting, is_gone: Cell::new(false) };
            let (kept, beginning) = (&mut kept, &mut beginning);
            watch(&plan, guest, passage, &petitions, &mut Attendance { kept, beginning })
        }
        (None, outcome) => (outcome.unwrap_or_else(|| Outcome::exited(0)), None, Rest::default()),
    };
    beginning.tell();
    let so_far = kept.so_far(plan.limits.output);
    let (output, kept) =
        if rest.0.is_empty() { (kept.finish(), None) } else { (so_far, Some(kept)) };
    hall.note(ended(exec, &outcome, usage.as_ref(), &output));
    if let Some(job) = hall.end(exec, leader, (outcome, usage, output)) {
        tell(&Told::Ended(Box::new(job)));
    }
    drop((client, streams.stdout, streams.stderr));
    if let Some(mut kept) = kept {
        go_on(rest, &mut kept);
        hall.amend(exec, &kept.finish());
    }
}

fn watch(
    plan: &Plan,
    guest: Guest,
    passage: Passage<'_>,
    petitions: &Petitions<'_>,
    attendance: &mut Attendance<'_, '_>,
) -> (Outcome, Option<Usage>, Rest) {
    match attend(guest.process, passage, unwatched_disk(plan), petitions, attendance) {
        Ok((ended, rest)) => {
            let mut outcome = judge(plan, &ended, Maker::Alive);
            if petitions.is_gone.get() && outcome.class == OutcomeClass::Canceled {
                outcome.message = Some("whoever waited for it is gone".to_owned());
            }
            (outcome, Some(ended.usage), rest)
        }
        Err(error) => {
            let message = format!("lost the command: {error}: {}", error.source);
            let outcome = Outcome::ended(OutcomeClass::SandboxFailure, None, message);
            (outcome, None, Rest::default())
        }
    }
}

/// What the background of a command writes is kept until nobody can write any more.
fn go_on(rest: Rest, kept: &mut Kept) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut open = rest.0;
    let mut buffer = vec![0; 64 * 1024];
    while !open.is_empty() {
        let mut fds: Vec<_> = open.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
        if let Err(errno) = poll(&mut fds, None)
            && errno != rustix::io::Errno::INTR
        {
            return;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ready = ready.into_iter();
        open.retain(|(name, fd)| {
            if ready.next() != Some(true) {
                return true;
            }
            match rustix::io::read(fd, &mut buffer) {
                Ok(0) => false,
                Ok(count) => {
                    kept.output(*name, &buffer[..count]);
                    true
                }
                Err(errno) => errno == rustix::io::Errno::INTR || errno == rustix::io::Errno::AGAIN,
            }
        });
    }
}

fn started(
    exec: u64,
    name: Option<String>,
    spec: &ExecSpec,
    plan: &Plan,
    redactor: &Redactor,
) -> EventKind {
    let args = redactor.args(&plan.command);
    EventKind::ExecStarted {
        exec,
        name,
        command: args.iter().map(|arg| Inert::os(&arg.0).to_string()).collect(),
        workdir: Inert::path(&plan.workdir).to_string(),
        env: spec.env.keys().map(ToString::to_string).collect(),
    }
}

fn ended(exec: u64, outcome: &Outcome, usage: Option<&Usage>, output: &Output) -> EventKind {
    EventKind::ExecEnded {
        exec,
        status: outcome.class,
        exit_code: outcome.exit_code,
        signal: outcome.signal,
        message: outcome.message.clone(),
        wall_ms: usage.map_or(0, |usage| usage.wall_ms),
        stdout_bytes: output.stdout_bytes,
        stderr_bytes: output.stderr_bytes,
    }
}

/// Keeps a command's output, as that of a run is kept.
struct Kept {
    stdout: OutputKeeper,
    stderr: OutputKeeper,
}

impl Kept {
    fn new(hall: &Hall<'_>, exec: u64, plan: &Plan, redactor: &Redactor) -> Self {
        let keeper = |stream| {
            OutputKeeper::new(output_path(hall.dir, exec, stream), plan.limits.output, redactor)
        };
        Self { stdout: keeper("stdout"), stderr: keeper("stderr") }
    }

    fn output(&mut self, stream: StreamName, bytes: &[u8]) {
        match stream {
            StreamName::Stdout => self.stdout.take(bytes),
            StreamName::Stderr => self.stderr.take(bytes),
        }
    }

    /// What can be said while more may come.
    fn so_far(&self, limit: ByteSize) -> Output {
        let (stdout_bytes, stderr_bytes) = (self.stdout.total(), self.stderr.total());
        let truncated = stdout_bytes.max(stderr_bytes) > limit.0;
        let (stdout, stderr) = (KeptStream::default(), KeptStream::default());
        Output { stdout_bytes, stderr_bytes, truncated, stdout, stderr }
    }

    fn finish(self) -> Output {
        let (stdout_bytes, stdout, _) = self.stdout.finish();
        let (stderr_bytes, stderr, _) = self.stderr.finish();
        let truncated = stdout.dropped > 0 || stderr.dropped > 0;
        Output { stdout_bytes, stderr_bytes, truncated, stdout, stderr }
    }
}

/// Tells a client, once, that its command runs. One who waits for the end is not woken for it at once: most commands
/// are over before that is of any use, and would be held up by it.
struct Beginning<'a> {
    client: &'a Channel,
    exec: u64,
    is_told: bool,
}

impl Beginning<'_> {
    fn tell(&mut self) {
        if !std::mem::replace(&mut self.is_told, true) {
            // A client that does not listen any more needs no answer.
            self.client.send(&bytes(&Told::Began(self.exec)), &[]).ok();
        }
    }
}

/// What is done about a command while it runs.
struct Attendance<'a, 'c> {
    kept: &'a mut Kept,
    beginning: &'a mut Beginning<'c>,
}

impl Watch for Attendance<'_, '_> {
    fn output(&mut self, stream: StreamName, bytes: &[u8]) {
        self.kept.output(stream, bytes);
    }

    /// That time ran out is part of how the command ended, and told then.
    fn notice(&mut self, notice: &Notice) {
        if *notice == Notice::Lasting {
            self.beginning.tell();
        }
    }
}
