//! The resources: what the session is, what holds in it, and what it has changed.

use cofferdam_core::inert::{self, Inert};
use rmcp::model::Resource;

use super::held::Held;
use super::run::blocking;

const PLAN: &str = "cofferdam://session/plan";
const RECEIPT: &str = "cofferdam://session/receipt";
const DIFF: &str = "cofferdam://session/diff";

pub(super) fn all() -> Vec<Resource> {
    let resources = [
        (PLAN, "plan", "What the sandbox was asked to be"),
        (RECEIPT, "receipt", "What is enforced, as read back"),
        (DIFF, "diff", "What the session has changed so far"),
    ];
    let resource = |(uri, name, what): (&str, &str, &str)| {
        Resource::new(uri, name).with_description(what).with_mime_type(kind(uri))
    };
    resources.map(resource).into()
}

pub(super) fn kind(uri: &str) -> &'static str {
    if uri == DIFF { "text/x-diff" } else { "application/json" }
}

pub(super) async fn read(held: &Held, uri: &str) -> Result<String, String> {
    match uri {
        PLAN => {
            let plan = serde_json::to_string_pretty(&held.record().await?.plan);
            Ok(inert::json(&plan.map_err(|error| error.to_string())?))
        }
        RECEIPT => {
            let path = held.client().await?.dir().join("receipt.json");
            let text = blocking(move || std::fs::read_to_string(path)).await?;
            text.map(|text| inert::json(&text)).map_err(|error| error.to_string())
        }
        DIFF => Ok(held.diff(&[]).await?.text),
        _ => Err(format!("there is no resource {}", Inert::line(uri))),
    }
}
