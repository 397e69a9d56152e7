//! Has an engine build an image: BuildKit by Docker's API, Buildah by Podman's. Both take the context as an
//! archive in the body of one request, honour cache mounts, and tell what they do as they do it.

use std::time::{Duration, Instant};

use cofferdam_core::spec::Network;
use serde_json::{Value, json};

use super::http::{self, Body, Request, Streamed};
use super::trace::Trace;
use super::{Engine, EngineError, Flavor, Patience, at, encoded};

/// What is to be built.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    pub(crate) context: &'a dyn Streamed,
    /// The Dockerfile's name in it.
    pub(crate) dockerfile: &'a str,
    pub(crate) tag: &'a str,
    /// A name and its value.
    pub(crate) label: (&'static str, &'a str),
    pub(crate) network: Network,
    pub(crate) timeout: Duration,
}

impl Engine {
    /// Builds it, telling each line of what is being done.
    pub(crate) fn build(
        &self,
        build: &Build<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), EngineError> {
        let target = self.full(&self.query(build));
        let call = format!("building {}", build.tag);
        let stream = self.connect(&call, Patience::Short)?;
        let request = Request::post(&target, Body::Streamed(build.context));
        let (mut trace, mut refused) = (Trace::default(), None);
        let answer = http::lines(stream, &request, Instant::now() + build.timeout, &mut |line| {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
            if let Some(error) = at(&line, &["error"]).as_str() {
                refused.get_or_insert_with(|| error.to_owned());
            }
            let told = match at(&line, &["aux"]) {
                Value::String(aux) => trace.hear(aux),
                _ => match at(&line, &["stream"]).as_str() {
                    Some(text) => text.lines().map(str::to_owned).collect(),
                    None => Vec::new(),
                },
            };
            told.iter().filter(|line| !line.trim().is_empty()).for_each(|line| progress(line));
        });
        match (answer, refused) {
            (Ok(Ok(())), None) => Ok(()),
            (_, Some(said)) => Err(EngineError::in_words(call, 200, &said)),
            (Ok(Err(response)), None) => Err(EngineError::said(call, &response)),
            (Err(trouble), None) => Err(EngineError::trouble(call, trouble)),
        }
    }

    fn query(&self, build: &Build<'_>) -> String {
        let mut query = format!(
            "/build?dockerfile={}&t={}&labels={}&rm=1&forcerm=1",
            encoded(build.dockerfile),
            encoded(build.tag),
            encoded(&json!({ build.label.0: build.label.1 }).to_string()),
        );
        match self.flavor {
            // Newer engines take the time of all that they make from this argument.
            Flavor::Docker => {
                let args = encoded(&json!({ "SOURCE_DATE_EPOCH": "0" }).to_string());
                let network = match build.network {
                    Network::None | Network::Allow => "none",
                    // Its bridge has another name there.
                    Network::Bridge => "default",
                    Network::Host => "host",
                };
                query.push_str(&format!("&networkmode={network}&version=2&buildargs={args}"));
            }
            Flavor::Podman => {
                // Docker's words for networks mean nothing to it here: `none` would be the host's.
                let (policy, is_host) = match build.network {
                    Network::None | Network::Allow => ("NetworkDisabled", false),
                    Network::Bridge => ("NetworkEnabled", false),
                    Network::Host => ("NetworkDefault", true),
                };
                let space = json!([{ "Name": "network", "Host": is_host, "Path": "" }]).to_string();
                let space = encoded(&space);
                query.push_str(&format!(
                    "&networkmode={policy}&nsoptions={space}&timestamp=0&layers=true"
                ));
            }
        }
        query
    }
}
