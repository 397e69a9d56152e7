//! What the first process of a sandbox tells its supervisor, through a channel that only the two have.
//!
//! Frames of a length and fields; nothing in them is interpreted. The program inside cannot write here:
//! the descriptor closes when it is executed, and the first process cannot be looked into.

use std::io::{self, Read, Write};

use cofferdam_core::receipt::{Act, Again, Probe, Violation};
use serde::{Deserialize, Serialize};

use crate::recipe::Step;
use crate::sys::{Reaped, SysError, Used};

#[derive(Debug)]
pub(crate) enum Report {
    /// A step of the confinement failed; nothing ran.
    Failed(Failed),
    /// Confined, but the program could not be executed.
    NotExecuted {
        path: String,
        errno: i32,
        /// What a program that is there lacks.
        lack: Option<String>,
    },
    /// Confined, and seen to be like this; waits for its order.
    Ready(Facts),
    /// The program runs, under this number in the sandbox.
    Started {
        pid: i32,
    },
    Ended(End),
}

/// A step that failed, with the call that did.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) step: Step,
    pub(crate) call: String,
    pub(crate) subject: Option<String>,
    pub(crate) errno: i32,
}

impl Failed {
    /// Something forbidden succeeded.
    pub(crate) fn violated(violation: &Violation) -> Self {
        Self {
            step: Step::Prove,
            call: violation.act.name().to_owned(),
            subject: Some(violation.what.clone()),
            errno: libc::EPERM,
        }
    }

    /// What succeeded, where that is why.
    pub(crate) fn violation(&self) -> Option<Violation> {
        let act = Act::named(&self.call).filter(|_| self.step == Step::Prove)?;
        Some(Violation { act, what: self.subject.clone().unwrap_or_default() })
    }

    pub(crate) fn new(step: Step, error: &SysError) -> Self {
        Self {
            step,
            call: error.call.to_owned(),
            subject: error.subject.clone(),
            errno: error.source.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// What the first process read back about itself, after confining itself and before starting anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Ids, capability sets and flags as in `/proc/self/status`.
    pub(crate) privileges: String,
    pub(crate) seccomp: String,
    pub(crate) landlock: String,
    /// Number of the network namespace.
    pub(crate) network: String,
    pub(crate) root: String,
    pub(crate) workspace: String,
    /// What was hidden, as paths from the workspace's root.
    pub(crate) hidden: Vec<String>,
    /// Names that are to be hidden, do not exist, and could not be kept from being made.
    pub(crate) unprotected: Vec<String>,
    /// What it tried itself, and how that was refused.
    pub(crate) probes: Vec<Probe>,
}

/// How the command ended, with what `wait4` said it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) status: i32,
    pub(crate) used: Used,
    /// Processes that were not started for want of room, where only the first process can tell: in a container.
    pub(crate) pids_refused: u64,
    /// Whether the forbidden was tried once more, and what came of it.
    pub(crate) again: Again,
}

impl End {
    pub(crate) fn of(reaped: Reaped) -> Self {
        let Reaped { pid: _, status, used, again } = reaped;
        Self { status, used, pids_refused: 0, again }
    }
}

/// No frame is larger: bounds what a damaged length could make us allocate.
const LARGEST: usize = 4 << 20;

impl Report {
    pub(crate) fn send(&self, mut to: impl Write) -> io::Result<()> {
        let mut fields = self.encode();
        let length = u32::try_from(fields.len()).map_err(io::Error::other)?;
        let mut frame = length.to_le_bytes().to_vec();
        frame.append(&mut fields);
        to.write_all(&frame)
    }

    /// As the bytes of one message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut fields = Fields(Vec::new());
        match self {
            Self::Failed(failed) => {
                fields.push(b"failed").push(&[failed.step.number()]);
                fields.push(&failed.errno.to_le_bytes()).text(&failed.call);
                fields.text(failed.subject.as_deref().unwrap_or_default());
            }
            Self::NotExecuted { path, errno, lack } => {
                fields.push(b"not executed").push(&errno.to_le_bytes()).text(path);
                fields.text(lack.as_deref().unwrap_or_default());
            }
            Self::Ready(facts) => {
                fields.push(b"ready").text(&facts.privileges).text(&facts.seccomp);
                fields.text(&facts.landlock).text(&facts.network).text(&facts.root);
                fields.text(&facts.workspace);
                fields.list(&facts.hidden).list(&facts.unprotected);
                let told = |probe: &Probe| format!("{} {}", probe.act.name(), probe.answer);
                fields.list(&facts.probes.iter().map(told).collect::<Vec<_>>());
            }
            Self::Started { pid } => {
                fields.push(b"started").push(&pid.to_le_bytes());
            }
            Self::Ended(end) => {
                fields.push(b"ended").push(&end.status.to_le_bytes());
                let Used { user_micros, system_micros, max_rss_bytes } = end.used;
                for number in [user_micros, system_micros, max_rss_bytes, end.pids_refused] {
                    fields.push(&number.to_le_bytes());
                }
                fields.text(match end.again {
                    Again::NotAsked => "",
                    Again::Refused => REFUSED,
                    Again::Succeeded(act) => act.name(),
                });
            }
        }
        fields.0
    }

    /// The next report, or `None` where the first process ended without another.
    pub(crate) fn receive(mut from: impl Read) -> io::Result<Option<Self>> {
        let mut length = [0; 4];
        match from.read_exact(&mut length) {
            Ok(()) => {}
            Err(e) if is_end(&e) => return Ok(None),
            Err(e) => return Err(e),
        }
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
        if length > LARGEST {
            return Err(garbled());
        }
        let mut frame = vec![0; length];
        from.read_exact(&mut frame)?;
        Self::parse(&frame).map(Some).ok_or_else(garbled)
    }

    pub(crate) fn parse(mut frame: &[u8]) -> Option<Self> {
        let f = &mut frame;
        Some(match take(f)? {
            b"failed" => Self::Failed(Failed {
                step: Step::numbered(*take(f)?.first()?)?,
                errno: i32::from_le_bytes(take(f)?.try_into().ok()?),
                call: take_text(f)?,
                subject: Some(take_text(f)?).filter(|text| !text.is_empty()),
            }),
            b"not executed" => Self::NotExecuted {
                errno: i32::from_le_bytes(take(f)?.try_into().ok()?),
                path: take_text(f)?,
                lack: Some(take_text(f)?).filter(|text| !text.is_empty()),
            },
            b"ready" => Self::Ready(Facts {
                privileges: take_text(f)?,
                seccomp: take_text(f)?,
                landlock: take_text(f)?,
                network: take_text(f)?,
                root: take_text(f)?,
                workspace: take_text(f)?,
                hidden: take_list(f)?,
                unprotected: take_list(f)?,
                probes: take_list(f)?.iter().map(|told| probe(told)).collect::<Option<_>>()?,
            }),
            b"started" => Self::Started { pid: i32::from_le_bytes(take(f)?.try_into().ok()?) },
            b"ended" => Self::Ended(End {
                status: i32::from_le_bytes(take(f)?.try_into().ok()?),
                used: Used {
                    user_micros: take_number(f)?,
                    system_micros: take_number(f)?,
                    max_rss_bytes: take_number(f)?,
                },
                pids_refused: take_number(f)?,
                again: match take_text(f)?.as_str() {
                    "" => Again::NotAsked,
                    REFUSED => Again::Refused,
                    name => Again::Succeeded(Act::named(name)?),
                },
            }),
            _ => return None,
        })
    }
}

/// In the end of a command: what was tried once more was refused once more.
const REFUSED: &str = "refused";

fn probe(told: &str) -> Option<Probe> {
    let (act, answer) = told.split_once(' ')?;
    Some(Probe { act: Act::named(act)?, answer: answer.to_owned(), again: false })
}

/// The far end is gone, with or without having read all that it was sent.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

fn garbled() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the sandbox's first process sent a garbled report")
}

struct Fields(Vec<u8>);

impl Fields {
    fn push(&mut self, bytes: &[u8]) -> &mut Self {
        // A field longer than that is cut: it is text for people.
        let bytes = &bytes[..bytes.len().min(64 << 10)];
        let length = u32::try_from(bytes.len()).unwrap_or(0);
        self.0.extend(length.to_le_bytes());
        self.0.extend(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.push(text.as_bytes())
    }

    fn list(&mut self, list: &[String]) -> &mut Self {
        self.push(list.join("\0").as_bytes())
    }
}

fn take<'f>(frame: &mut &'f [u8]) -> Option<&'f [u8]> {
    let (length, rest) = frame.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (field, rest) = rest.split_at_checked(length)?;
    *frame = rest;
    Some(field)
}

fn take_text(frame: &mut &[u8]) -> Option<String> {
    take(frame).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn take_list(frame: &mut &[u8]) -> Option<Vec<String>> {
    let text = take_text(frame)?;
    Some(text.split('\0').filter(|item| !item.is_empty()).map(str::to_owned).collect())
}

fn take_number(frame: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(frame)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(report: &Report) -> Option<Report> {
        let mut wire = Vec::new();
        report.send(&mut wire).unwrap();
        Report::receive(&wire[..]).unwrap()
    }

    #[test]
    fn reports_arrive_as_sent() {
        let failed = Failed {
            step: Step::Workspace,
            call: "fsconfig".into(),
            subject: Some("overlay".into()),
            errno: 22,
        };
        let back = there_and_back(&Report::Failed(failed)).unwrap();
        let Report::Failed(back) = back else { panic!("{back:?}") };
        assert_eq!((back.step, back.call.as_str(), back.errno), (Step::Workspace, "fsconfig", 22));
        assert_eq!(back.subject.as_deref(), Some("overlay"));

        let probes = vec![Probe { act: Act::ReachNetwork, answer: "no: x".into(), again: false }];
        let hidden = vec!["a".into(), "b c".into()];
        let facts = Facts { hidden, probes, ..Facts::default() };
        let back = there_and_back(&Report::Ready(facts.clone())).unwrap();
        assert!(matches!(back, Report::Ready(f) if f == facts));

        for again in [Again::NotAsked, Again::Refused, Again::Succeeded(Act::WriteOutside)] {
            let used = Used { user_micros: 1, system_micros: 2, max_rss_bytes: u64::MAX };
            let end = End { status: 256, used, pids_refused: 3, again };
            let back = there_and_back(&Report::Ended(end)).unwrap();
            assert!(matches!(back, Report::Ended(e) if e == end));
        }
    }

    #[test]
    fn an_end_is_no_report_and_rubbish_is_an_error() {
        assert!(Report::receive(&b""[..]).unwrap().is_none());
        assert!(Report::receive(&b"\xff\xff\xff\xff"[..]).is_err());
        assert!(Report::receive(&b"\x06\0\0\0\x02\0\0\0xx"[..]).is_err());
        assert!(Report::receive(&b"\x04\0\0\0\x7f\0\0\0"[..]).is_err());
    }
}
