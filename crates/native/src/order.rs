//! What a waiting sandbox is told to run: the command, its environment, where to start it, and its
//! standard streams.
//!
//! All that may differ between two runs in sandboxes of one profile.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use cofferdam_core::plan::{Plan, SYSTEM_PATH};

use crate::channel::{self, LARGEST, Message};
use crate::confined::ConfineError;

/// Tells the program, and whoever looks at a process, which run it belongs to.
pub(crate) const RUN_VARIABLE: &str = "COFFERDAM_RUN";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) argv: Vec<CString>,
    /// The whole environment.
    pub(crate) env: Vec<CString>,
    pub(crate) workdir: PathBuf,
    /// Directories to search for a name without a slash.
    pub(crate) search: OsString,
}

impl Order {
    pub(crate) fn of(plan: &Plan, run_id: &str) -> Result<Self, ConfineError> {
        let text = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| ConfineError::Unsupported { what: "a NUL byte" })
        };
        let argv: Result<_, _> = plan.command.iter().map(|arg| text(arg.0.as_bytes())).collect();
        let env: Result<_, _> = plan
            .env
            .iter()
            // The run's own name cannot be taken by another.
            .filter(|(name, _)| name.as_str() != RUN_VARIABLE)
            .map(|(name, value)| format!("{name}={}", value.reveal()))
            .chain([format!("{RUN_VARIABLE}={run_id}")])
            .map(|variable| text(variable.as_bytes()))
            .collect();
        let search = plan
            .env
            .iter()
            .find(|(name, _)| name.as_str() == "PATH")
            .map_or(SYSTEM_PATH, |(_, value)| value.reveal());
        let workdir = plan.workdir.0.clone();
        Ok(Self { argv: argv?, env: env?, workdir, search: search.into() })
    }

    /// As bytes, where they are few enough to be sent.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ConfineError> {
        let mut bytes = Vec::new();
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
        b.is_empty().then_some(Self { argv, env, workdir, search })
    }
}

/// In the waiting process: the order with its streams, or `None` where nobody is left to give one.
pub(crate) fn receive(from: BorrowedFd<'_>) -> io::Result<Option<(Order, [OwnedFd; 3])>> {
    let Some(Message { bytes, descriptors }) = channel::receive(from)? else { return Ok(None) };
    match (Order::parse(&bytes), descriptors.try_into()) {
        (Some(order), Ok(streams)) => Ok(Some((order, streams))),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a garbled order")),
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
        }
    }

    #[test]
    fn an_order_arrives_as_given_and_rubbish_does_not() {
        let bytes = order().encode().unwrap();
        assert_eq!(Order::parse(&bytes), Some(order()));
        for cut in 0..bytes.len() {
            assert_eq!(Order::parse(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Order::parse(&[bytes, vec![0]].concat()), None);
        assert_eq!(Order::parse(&[0xff; 64]), None);
    }

    #[test]
    fn one_that_is_too_large_is_refused_before_it_is_sent() {
        let env = vec![CString::new(vec![b'x'; LARGEST]).unwrap()];
        let error = Order { env, ..order() }.encode().unwrap_err();
        assert!(matches!(error, ConfineError::OrderTooLarge { bytes } if bytes > LARGEST));
    }
}
