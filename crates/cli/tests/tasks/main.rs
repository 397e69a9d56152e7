//! Tasks of a server, from the request to what reaches the project: server, runners and commands are processes of their own.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod artifacts;
mod cable;
mod containers;
mod cut;
mod path;
mod place;
mod projects;
mod runners;
mod tls;
mod tokens;
mod workflows;
