//! A question to whoever sits at the terminal. Nobody is asked where there is none.

use std::io::{self, IsTerminal as _, Write as _};

use cofferdam_core::inert::Inert;

/// Whether there is somebody to ask.
pub(crate) fn is_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Anything but a yes is a no.
pub(crate) fn ask(question: &str) -> io::Result<bool> {
    io::stderr().write_all(format!("{} [y/N] ", Inert::line(question)).as_bytes())?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
