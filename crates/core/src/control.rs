//! The control plane's nouns, as values: what is stored, what crosses the wire, and what may follow what.
//!
//! - [`id`]: names of everything that lasts.
//! - [`project`], [`role`], [`task`], [`workflow`], [`approval`], [`runner`], [`token`], [`artifact`]: the resources of `/v1`.
//! - [`state`]: the states of a task and the only moves between them.
//! - [`admission`], [`queue`], [`fence`], [`retry`], [`graph`], [`rerun`]: the decisions: what may be asked for, who is next, which
//!   reports count, whether there is another attempt, which steps go on, which are taken over.
//! - [`report`]: what a runner and the server say to each other; [`log_place`]: where a reader of output stands.
//! - [`timeline`], [`audit`], [`overview`], [`spent`]: what happened, as the API shows it.
//! - [`question`]: what somebody is asked before a task is run.
//! - [`problem`], [`page`]: how an answer says no, and how it says "there is more".
//!
//! Pure: nothing here knows a clock, a database or a socket. Inputs refuse fields that they do not know.

pub mod admission;
pub mod approval;
pub mod artifact;
pub mod audit;
pub mod fence;
pub mod graph;
pub mod id;
pub mod log_place;
pub mod overview;
pub mod page;
pub mod problem;
pub mod project;
pub mod question;
pub mod queue;
pub mod report;
pub mod rerun;
pub mod retry;
pub mod role;
pub mod runner;
pub mod spent;
pub mod state;
pub mod task;
pub mod timeline;
pub mod token;
pub mod workflow;
