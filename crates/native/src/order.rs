//! What a waiting sandbox is told: to run a command, with its environment, where to start it and its
//! standard streams; or to end all that a command left behind.
//!
//! All that may differ between two runs in sandboxes of one profile. An order with a channel of its own is one
//! of many, and the sandbox stays; one without is what the sandbox is for, and the sandbox ends with it.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use cofferdam_core::plan::{Plan, SYSTEM_PATH};

use crate::channel::{self, LARGEST, Message};
use crate::confined::ConfineError;
use crate::terminal::Size;

/// Tells the program, and whoever looks at a process, which run it belongs to.
pub(crate) const RUN_VARIABLE: &str = "COFFERDAM_RUN";
/// And to which command of a session.
pub(crate) const EXEC_VARIABLE: &str = "COFFERDAM_EXEC";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) argv: Vec<CString>,
    /// The whole environment.
    pub(crate) env: Vec<CString>,
    pub(crate) workdir: PathBuf,
    /// Directories to search for a name without a slash.
    pub(crate) search: OsString,
    /// Its number among the commands of a session.
    pub(crate) exec: Option<u64>,
    /// It gets a terminal of this size instead of streams.
    pub(crate) terminal: Option<Size>,
}

/// What arrives where orders are waited for.
#[derive(Debug)]
pub(crate) enum Word {
    Order {
        order: Order,
        /// Missing where it gets a terminal.
        streams: Option<[OwnedFd; 3]>,
        channel: Option<OwnedFd>,
    },
    /// End all that is left of a command.
    End(Family),
}

/// A command of a session and all that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family {
    /// The number of its first process, as the sandbox sees it.
    pub(crate) leader: i32,
    pub(crate) exec: u64,
}

const ORDER: u8 = b'o';
const END: u8 = b'e';

impl Family {
    pub(crate) fn encode(self) -> Vec<u8> {
        let numbers = [&self.leader.to_le_bytes()[..], &self.exec.to_le_bytes()[..]];
        [&[END], numbers.concat().as_slice()].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (leader, rest) = bytes.split_first_chunk()?;
        let exec = u64::from_le_bytes(rest.try_into().ok()?);
        Some(Self { leader: i32::from_le_bytes(*leader), exec })
    }

    /// The variable that its processes carry.
    pub(crate) fn mark(self) -> String {
        format!("{EXEC_VARIABLE}={}", self.exec)
    }
}

impl Order {
    pub(crate) fn of(plan: &Plan, run_id: &str, exec: Option<u64>) -> Result<Self, ConfineError> {
        let text = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| ConfineError::Unsupported { what: "a NUL byte" })
        };
        let argv: Result<_, _> = plan.command.iter().map(|arg| text(arg.0.as_bytes())).collect();
        let env: Result<_, _> = plan
            .env
            .iter()
            // The run's own name cannot be taken by another.
            .filter(|(name, _)| ![RUN_VARIABLE, EXEC_VARIABLE].contains(&name.as_str()))
            .map(|(name, value)| format!("{name}={}", value.reveal()))
            .chain([format!("{RUN_VARIABLE}={run_id}")])
            .chain(exec.map(|exec| format!("{EXEC_VARIABLE}={exec}")))
            .map(|variable| text(variable.as_bytes()))
            .collect();
        let search = plan
            .env
            .iter()
            .find(|(name, _)| name.as_str() == "PATH")
            .map_or(SYSTEM_PATH, |(_, value)| value.reveal());
        let workdir = plan.workdir.0.clone();
        let search = search.into();
        Ok(Self { argv: argv?, env: env?, workdir, search, exec, terminal: None })
    }

    /// Adds the variables that an image has for everybody, as far as the order does not name them itself. What
    /// cannot be one is left out, as an engine would.
    pub(crate) fn with_image_env(mut self, variables: &[(String, String)]) -> Self {
        for (name, value) in variables {
            let head = format!("{name}=");
            if self.env.iter().any(|known| known.as_bytes().starts_with(head.as_bytes())) {
                continue;
            }
            if name == "PATH" {
                self.search = value.into();
            }
            self.env.extend(CString::new(head + value));
        }
        self
    }

    /// As bytes, where they are few enough to be sent.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ConfineError> {
        let mut bytes = vec![ORDER];
        for list in [&self.argv, &self.env] {
            put(&mut bytes, list.len());
            for text in list {
                put(&mut bytes, text.as_bytes().len());
                bytes.extend(text.as_bytes());
            }
        }
        for text in [self.workdir.as_os_str(), &self.search] {
            put(&mut bytes, text.len());
            bytes.extend(text.as_bytes());
        }
        let size = self.terminal.map_or([0; 2], |size| [size.rows, size.columns]);
        bytes.push(u8::from(self.terminal.is_some()));
        bytes.extend(size.iter().flat_map(|number| number.to_le_bytes()));
        if let Some(exec) = self.exec {
            bytes.extend(exec.to_le_bytes());
        }
        if bytes.len() > LARGEST {
            return Err(ConfineError::OrderTooLarge { bytes: bytes.len() });
        }
        Ok(bytes)
    }

    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let b = &mut bytes;
        let argv = take_list(b)?;
        let env = take_list(b)?;
        let workdir = OsString::from_vec(take_bytes(b)?).into();
        let search = OsString::from_vec(take_bytes(b)?);
        let ([has_terminal, r0, r1, c0, c1], rest) = b.split_first_chunk::<5>()?;
        let size =
            Size { rows: u16::from_le_bytes([*r0, *r1]), columns: u16::from_le_bytes([*c0, *c1]) };
        let terminal = (*has_terminal == 1).then_some(size);
        let exec = match rest {
            [] => None,
            rest => Some(u64::from_le_bytes(rest.try_into().ok()?)),
        };
        Some(Self { argv, env, workdir, search, exec, terminal })
    }
}

/// In the waiting process: the next word, or `None` where nobody is left to give one.
pub(crate) fn receive(from: BorrowedFd<'_>) -> io::Result<Option<Word>> {
    let Some(Message { bytes, mut descriptors }) = channel::receive(from)? else { return Ok(None) };
    let word = match bytes.split_first() {
        Some((&ORDER, bytes)) => Order::parse(bytes).and_then(|order| {
            let streams = if order.terminal.is_some() { 0 } else { 3 };
            let channel = if descriptors.len() > streams { descriptors.pop() } else { None };
            let streams = match order.terminal {
                Some(_) => None,
                None => Some(descriptors.try_into().ok()?),
            };
            Some(Word::Order { order, streams, channel })
        }),
        Some((&END, bytes)) => Family::parse(bytes).map(Word::End),
        _ => None,
    };
    match word {
        Some(word) => Ok(Some(word)),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "a garbled order")),
    }
}

fn put(to: &mut Vec<u8>, number: usize) {
    to.extend(u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes());
}

fn take_number(from: &mut &[u8]) -> Option<usize> {
    let (number, rest) = from.split_first_chunk()?;
    *from = rest;
    usize::try_from(u64::from_le_bytes(*number)).ok()
}

fn take_bytes(from: &mut &[u8]) -> Option<Vec<u8>> {
    let length = take_number(from)?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes.to_vec())
}

fn take_list(from: &mut &[u8]) -> Option<Vec<CString>> {
    // Each takes at least its length: a count that lies ends with the bytes.
    (0..take_number(from)?).map(|_| CString::new(take_bytes(from)?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            argv: vec![c"sh".into(), c"".into(), c"a b".into()],
            env: vec![c"A=1".into()],
            workdir: "/workspace/\u{e9}".into(),
            search: "/bin".into(),
            exec: None,
            terminal: None,
        }
    }

    #[test]
    fn an_order_arrives_as_given_and_rubbish_does_not() {
        let bytes = order().encode().unwrap();
        assert_eq!(Order::parse(&bytes[1..]), Some(order()));
        for cut in 1..bytes.len() {
            assert_eq!(Order::parse(&bytes[1..cut]), None, "{cut}");
        }
        assert_eq!(Order::parse(&[&bytes[1..], &[0]].concat()), None);
        let terminal = Some(Size { rows: 24, columns: 300 });
        let one_of_many = Order { exec: Some(7), terminal, ..order() };
        let bytes = one_of_many.encode().unwrap();
        assert_eq!(Order::parse(&bytes[1..]), Some(one_of_many));
        let family = Family { leader: 12, exec: 7 };
        assert_eq!(Family::parse(&family.encode()[1..]), Some(family));
        assert_eq!(Family::parse(b"short"), None);
        assert_eq!(Order::parse(&[0xff; 64]), None);
    }

    #[test]
    fn an_image_adds_what_the_order_does_not_name() {
        let image = [("A", "other"), ("PATH", "/opt/bin"), ("B", "x=y")];
        let image = image.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let order = order().with_image_env(&image);
        assert_eq!(order.env, [c"A=1", c"PATH=/opt/bin", c"B=x=y"].map(CString::from));
        assert_eq!(order.search, "/opt/bin");
    }

    #[test]
    fn one_that_is_too_large_is_refused_before_it_is_sent() {
        let env = vec![CString::new(vec![b'x'; LARGEST]).unwrap()];
        let error = Order { env, ..order() }.encode().unwrap_err();
        assert!(matches!(error, ConfineError::OrderTooLarge { bytes } if bytes > LARGEST));
    }
}
