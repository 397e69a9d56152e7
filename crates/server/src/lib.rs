//! The control plane: API server, store, host runner, dashboard.
//!
//! Nothing is here yet. The crate exists so that its door is where it will be: it may use the sandbox
//! library and the core, and only it may use a web framework or a database.
