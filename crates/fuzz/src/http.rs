//! What requests bring.

use std::fmt::Debug;

use cofferdam_core::config::Entries;
use cofferdam_core::control::approval::Decision;
use cofferdam_core::control::project::NewProject;
use cofferdam_core::control::report::{
    ClaimAsk, ErrandAnswer, Heartbeat, LogChunk, Registration, StatusReport,
};
use cofferdam_core::control::role::NewRole;
use cofferdam_core::control::task::NewTask;
use cofferdam_core::control::token::NewToken;
use cofferdam_core::control::workflow::{NewTemplate, NewWorkflowRun};
use cofferdam_core::control::{admission, graph};
use cofferdam_server::http::strict::parse;
use cofferdam_server::http::{DiscardAsk, Rerun};
use cofferdam_server::plane::Apply;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The first byte chooses the request. A body is refused, or read and judged as handlers do; it is never read
/// differently from how other parsers read it, and what was read is written as what is read the same.
pub fn http(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    if let Ok(value) = parse::<Value>(bytes) {
        assert_eq!(serde_json::from_slice::<Value>(bytes).ok(), Some(value));
    }
    match choice % 16 {
        0 => read::<NewTask>(bytes).iter().for_each(task),
        1 => read::<NewTemplate>(bytes).iter().for_each(template),
        2 => read::<NewRole>(bytes).iter().for_each(role),
        3 => named(read::<NewProject>(bytes).map(|project| project.name)),
        4 => named(read::<NewToken>(bytes).map(|token| token.name)),
        5 => named(read::<Registration>(bytes).map(|runner| runner.name)),
        6 => drop(read::<ClaimAsk>(bytes)),
        7 => drop(read::<Heartbeat>(bytes)),
        8 => drop(read::<StatusReport>(bytes)),
        9 => drop(read::<LogChunk>(bytes)),
        10 => drop(read::<ErrandAnswer>(bytes)),
        11 => drop(read::<Decision>(bytes)),
        12 => drop(read::<NewWorkflowRun>(bytes)),
        13 => drop(read::<Apply>(bytes)),
        14 => drop(read::<Rerun>(bytes)),
        _ => drop(read::<DiscardAsk>(bytes)),
    }
}

fn read<T>(bytes: &[u8]) -> Option<T>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let read: T = parse(bytes).ok()?;
    let written = serde_json::to_vec(&read).expect("a request is written as JSON");
    assert_eq!(parse::<T>(&written).as_ref(), Ok(&read));
    Some(read)
}

/// What is admitted has a form, and is admitted again.
fn task(task: &NewTask) {
    let form = admission::form(task);
    let admitted = admission::admit(&Entries::default(), None, task);
    assert!(form.is_ok() || admitted.is_err(), "{task:?}");
    if let Ok(admitted) = admitted {
        drop(admitted.mounts());
        assert!(admission::admit(&Entries::default(), None, task).is_ok(), "{task:?}");
    }
}

/// Steps that can be put in an order have, each, only such before them as there are.
fn template(template: &NewTemplate) {
    let names: Vec<String> = template.steps.iter().map(|step| step.name.clone()).collect();
    if graph::check(&template.steps).is_ok() {
        assert_eq!(graph::with_dependents(&template.steps, &names).len(), names.len());
    }
    template.steps.iter().for_each(|step| self::task(&step.task));
}

fn role(role: &NewRole) {
    assert_eq!(admission::check_role(role).is_ok(), admission::check_role(role).is_ok());
}

/// A name that is taken can stand in a line of a log.
fn named(name: Option<String>) {
    if let Some(name) = name
        && admission::name("name", &name).is_ok()
    {
        assert!(!name.is_empty() && !name.contains(char::is_control), "{name:?}");
    }
}
