//! Terminals: the one that a program inside gets, and the one that it is shown on.
//!
//! The program's own is made inside the sandbox, in the sandbox's own devpts: its master end comes out to us as a
//! descriptor. The user's is set to raw while the program runs, so that every key goes to the program, and is put
//! back whatever happens: by [`Raw`] when it is dropped, and by a [`guard`] process should we be killed.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    OptionalActions, Termios, Winsize, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

use crate::sys::{self, SysError};

/// Rows and columns of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

impl Size {
    /// Of the terminal behind a descriptor; `None` where there is none, or it does not know.
    pub fn of(terminal: BorrowedFd<'_>) -> Option<Self> {
        if !isatty(terminal) {
            return None;
        }
        let size = tcgetwinsize(terminal).ok()?;
        let is_known = size.ws_row > 0 && size.ws_col > 0;
        is_known.then_some(Self { rows: size.ws_row, columns: size.ws_col })
    }

    /// The foreground group behind it is told by the kernel.
    pub(crate) fn set(self, terminal: BorrowedFd<'_>) -> Result<(), SysError> {
        let size = Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(terminal, size).map_err(|e| SysError::new("ioctl (TIOCSWINSZ)", e))
    }
}

/// While this lives, the terminal passes every key on and changes nothing.
#[derive(Debug)]
pub struct Raw {
    terminal: OwnedFd,
    before: Termios,
}

impl Raw {
    /// `None` where it is no terminal.
    pub fn enter(terminal: BorrowedFd<'_>) -> Result<Option<Self>, SysError> {
        isatty(terminal).then(|| Self::set(terminal)).transpose()
    }

    pub fn set(terminal: BorrowedFd<'_>) -> Result<Self, SysError> {
        let before = tcgetattr(terminal).map_err(|e| SysError::new("tcgetattr", e))?;
        let mut raw = before.clone();
        raw.make_raw();
        let terminal = terminal.try_clone_to_owned().map_err(|e| SysError::new("dup", e))?;
        tcsetattr(&terminal, OptionalActions::Drain, &raw)
            .map_err(|e| SysError::new("tcsetattr", e))?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that went away needs nothing put back.
        tcsetattr(&self.terminal, OptionalActions::Drain, &self.before).ok();
    }
}

/// What there is to hear from a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Keys,
    Quiet,
    /// Its other end is closed: no key will come, and whatever is read from it is an end or an error.
    Gone,
}

/// Waits for keys, no longer than `patience`. A signal ends the wait, too.
pub fn listen(terminal: BorrowedFd<'_>, patience: Duration) -> Result<Line, SysError> {
    let mut fds = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
    match poll(&mut fds, Timespec::try_from(patience).ok().as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Line::Quiet),
        Err(errno) => return Err(SysError::new("poll (terminal)", errno)),
    }
    let seen = fds[0].revents();
    // What was typed before it went is not waited for: whoever typed it does not see what comes of it.
    if seen.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Ok(Line::Gone);
    }
    Ok(if seen.is_empty() { Line::Quiet } else { Line::Keys })
}

/// For a process of its own: remembers how the terminal on its standard input is set, says so with a byte on
/// its standard output, and waits on its standard error, which is a pipe's reading end. A byte there means
/// that all is well. An end without one means that whoever used the terminal is dead: then it is put back.
pub fn guard() -> io::Result<()> {
    // We are in the background, and may set the terminal all the same only if we do not hear of it.
    sys::block_signals(&[libc::SIGTTOU]).map_err(|e| e.source)?;
    let (terminal, ready, life) =
        (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let before = tcgetattr(terminal)?;
    File::from(ready.try_clone_to_owned()?).write_all(b"r")?;
    let mut life = File::from(life.as_fd().try_clone_to_owned()?);
    if life.read(&mut [0])? == 0 {
        tcsetattr(terminal, OptionalActions::Flush, &before)?;
        calm(terminal)?;
    }
    Ok(())
}

/// What a program that was killed had no time to take back: another screen, a hidden cursor, keys and clicks that are
/// told in its own way. On a screen that has none of that, nothing changes: the place of the cursor is saved first,
/// because leaving the other screen restores it.
pub fn calm(terminal: BorrowedFd<'_>) -> io::Result<()> {
    const CALM: &[u8] =
        b"\x1b7\x1b[?1049l\x1b[?25h\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\
                          \x1b[?2004l\x1b[0m";
    File::from(terminal.try_clone_to_owned()?).write_all(CALM)
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
