//! The control plane against a real database, through its whole service: no HTTP, no sandbox.

#[cfg(test)]
#[path = "plane/desk.rs"]
mod desk;
#[path = "plane/leases.rs"]
mod leases;
#[path = "plane/mounts.rs"]
mod mounts;
#[path = "plane/path.rs"]
mod path;
