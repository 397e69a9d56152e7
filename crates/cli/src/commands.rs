//! One file a command: its arguments and what it does.

pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod drive;
pub(crate) mod events;
pub(crate) mod first;
pub(crate) mod gate;
pub(crate) mod gc;
pub(crate) mod image;
pub(crate) mod init;
pub(crate) mod launcher;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod step;
pub(crate) mod trust;
pub(crate) mod undo;
