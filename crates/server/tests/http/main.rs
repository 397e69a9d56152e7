//! The server as its clients meet it: over real sockets, by bytes that are written by hand.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod access;
mod bodies;
mod description;
mod names;
mod server;
mod shutdown;
mod streams;
mod tls;
mod versions;
mod watching;
mod wire;
