//! What may be asked for: a task judged before anything is taken for it.
//!
//! [`form`] looks at the task alone. It is asked when a task is made, and everything here again when it is dispatched
//! and when a runner claims it. Facts about the host, such as where a link leads, come in as values.

mod form;

pub use form::{form, name};

use crate::refusal::{Refusal, Rule};

fn wrong(field: &str, message: impl Into<String>, remedy: &str) -> Refusal {
    Refusal {
        rule: Rule::ValueForm,
        field: field.to_owned(),
        message: message.into(),
        remedy: remedy.to_owned(),
    }
}
