//! Faults on demand, in builds with the feature `fault-injection`; users get none of it.
//!
//! `FAULT_INJECTION=kill:N` ends the process, without another word, right before the Nth thing that would
//! reach the disk; `enospc:N` has that thing fail as on a full disk, once; `stop:N` has the process wait there
//! until it is told to go on. Several can be given, with commas.

use cofferdam_sandbox::changes::apply::Faults;

use crate::context::Context;

#[cfg(not(feature = "fault-injection"))]
pub(crate) fn faults(_: &Context) -> impl Faults {
    cofferdam_sandbox::changes::apply::NoFaults
}

#[cfg(feature = "fault-injection")]
pub(crate) fn faults(context: &Context) -> impl Faults {
    injection::Injection::read(context.variable("FAULT_INJECTION"))
}

#[cfg(feature = "fault-injection")]
mod injection {
    use std::ffi::OsString;
    use std::io;

    use cofferdam_sandbox::changes::apply::{Faults, Point};

    #[derive(Debug, Default)]
    pub(super) struct Injection {
        kill_at: Option<u64>,
        fail_at: Option<u64>,
        stop_at: Option<u64>,
        seen: u64,
    }

    impl Injection {
        pub(super) fn read(text: Option<&OsString>) -> Self {
            let text = text.and_then(|text| text.to_str()).unwrap_or_default();
            let number =
                |prefix| text.split(',').find_map(|part| part.strip_prefix(prefix)?.parse().ok());
            Self {
                kill_at: number("kill:"),
                fail_at: number("enospc:"),
                stop_at: number("stop:"),
                seen: 0,
            }
        }
    }

    impl Faults for Injection {
        fn before(&mut self, _: Point) -> io::Result<()> {
            self.seen += 1;
            if self.kill_at == Some(self.seen) {
                // As sudden as SIGKILL: nothing is flushed, dropped or unwound.
                std::process::abort();
            }
            if self.stop_at == Some(self.seen) {
                let pid = std::process::id().to_string();
                std::process::Command::new("kill").args(["-STOP", &pid]).status()?;
            }
            if self.fail_at == Some(self.seen) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(())
        }
    }
}
