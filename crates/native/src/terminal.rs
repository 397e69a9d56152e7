//! The caller's own terminal, while a command has one of its own: made raw, so that every key goes to the command,
//! and put back as it was ([`Raw`]); and its size ([`Size`]).
//!
//! A terminal stays raw after a `kill -9`, as with any other program.

use std::os::fd::BorrowedFd;

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

use crate::sys::SysError;

/// Keys go through unread while this lives.
#[derive(Debug)]
pub struct Raw<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
}

impl<'a> Raw<'a> {
    /// `None` where it is no terminal.
    pub fn enter(terminal: BorrowedFd<'a>) -> Result<Option<Self>, SysError> {
        if !isatty(terminal) {
            return Ok(None);
        }
        let before = tcgetattr(terminal).map_err(|e| SysError::new("tcgetattr", e))?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Now, &raw)
            .map_err(|e| SysError::new("tcsetattr", e))?;
        Ok(Some(Self { terminal, before }))
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        // A terminal that went away needs no care any more.
        tcsetattr(self.terminal, OptionalActions::Now, &self.before).ok();
    }
}

/// In characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

impl Size {
    /// Of a terminal that knows it.
    pub fn of(terminal: BorrowedFd<'_>) -> Option<Self> {
        let size = tcgetwinsize(terminal).ok()?;
        (size.ws_row > 0 && size.ws_col > 0)
            .then_some(Self { rows: size.ws_row, columns: size.ws_col })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, Winsize, tcsetwinsize};

    use super::*;

    #[test]
    fn is_raw_for_a_while_and_then_as_before() {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let mut options = std::fs::File::options();
        let theirs = options.read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let echoes = || {
            tcgetattr(&theirs).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON)
        };
        assert!(echoes());
        let raw = Raw::enter(theirs.as_fd()).unwrap();
        assert!(raw.is_some() && !echoes());
        drop(raw);
        assert!(echoes());
        assert_eq!(Size::of(theirs.as_fd()), None);
        let size = Winsize { ws_row: 7, ws_col: 9, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).unwrap();
        assert_eq!(Size::of(theirs.as_fd()), Some(Size { rows: 7, columns: 9 }));
    }

    #[test]
    fn a_file_is_no_terminal() {
        let file = tempfile::tempfile().unwrap();
        assert!(Raw::enter(file.as_fd()).unwrap().is_none());
        assert_eq!(Size::of(file.as_fd()), None);
    }
}
