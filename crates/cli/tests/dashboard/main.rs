//! The dashboard in a real browser, against the real server with the runner that it carries, as a person uses it.
//!
//! Each test has a server and a browser of its own. All of them end with [`Person::leave`], which fails on violations of
//! the content security policy, on errors, and on anything in the console.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod access;
mod conflicts;
mod connection;
mod habits;
mod hostile;
mod keyboard;
mod leftovers;
mod output;
mod overview;
mod person;
mod reruns;
mod resources;
mod review;
mod server;
mod speed;
mod tasks;
mod tokens;
mod workflows;

use person::Person;
use server::Server;
