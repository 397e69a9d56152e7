//! A control group of our own, from the service manager of the user.
//!
//! Where systemd runs, a user without privileges may limit nothing in the group of a login or of a terminal. But the user's
//! own manager makes a scope on request, hands it over ("delegates" it) and takes it away when its last process is gone,
//! whatever that died of: nothing of it has to be cleaned up.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::bus::{Body, Bus, Method};
use super::place::own_path;
use crate::descendants::start_ticks;

/// How long the manager may take to move us.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) const START: Method<'_> = Method {
    destination: "org.freedesktop.systemd1",
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
    name: "StartTransientUnit",
};

/// Moves this process into a scope of its own. See org.freedesktop.systemd1(5).
pub(super) fn enter(uid: u32) -> io::Result<()> {
    let socket = PathBuf::from(format!("/run/user/{uid}/bus"));
    let pid = std::process::id();
    // Together no other process has them.
    let began = start_ticks(pid).ok_or(io::ErrorKind::InvalidData)?;
    let name = format!("cofferdam-{pid}-{began}.scope");
    let said = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other(format!("{}: no answer", socket.display())),
        _ => io::Error::other(format!("{}: {error}", socket.display())),
    };
    let mut bus = Bus::connect(&socket, uid).map_err(said)?;
    bus.call(START, &unit(&name, pid)).map_err(said)?;
    // The answer says that it is going to be done.
    let deadline = Instant::now() + PATIENCE;
    while !own_path().is_some_and(|own| own.ends_with(&name)) {
        if Instant::now() >= deadline {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("we were not moved to {name}"),
            ));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

pub(super) fn unit(name: &str, pid: u32) -> Body {
    let mut body = Body::of("ssa(sv)a(sa(sv))");
    body.text(name).text("fail");
    body.list(8, |properties| {
        properties.align(8).text("Description").signature("s").text("Cofferdam's sandboxes");
        properties.align(8).text("PIDs").signature("au").list(4, |pids| {
            pids.number(pid);
        });
        properties.align(8).text("Delegate").signature("b").number(1);
        // Nobody is to look into why it ended.
        properties.align(8).text("CollectMode").signature("s").text("inactive-or-failed");
    });
    body.list(8, |_| ());
    body
}
