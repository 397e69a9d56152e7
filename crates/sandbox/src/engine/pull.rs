//! Fetches an image from its registry, in bounded time, and tells how far it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use cofferdam_core::image::ImageRef;
use serde_json::Value;

use super::http::{self, Body, Request};
use super::login::Login;
use super::{Engine, EngineError, Patience, at, encoded};

/// How far it is: bytes of all layers that are known of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

impl Engine {
    /// Has the engine fetch exactly one image. One that does not come to its end is no image.
    pub(crate) fn pull(
        &self,
        image: &ImageRef,
        docker_config: &Path,
        timeout: Duration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EngineError> {
        let parts = image.parts();
        let (name, version) = (encoded(parts.name), encoded(parts.version));
        let target = self.full(&format!("/images/create?fromImage={name}&tag={version}"));
        let login = Login::of(parts.registry, docker_config)?.map(|login| login.header());
        let header = login.as_deref().unwrap_or_default();
        let request = Request { header, ..Request::post(&target, Body::None) };
        let call = format!("fetching {image}");
        let stream = self.connect(&call, Patience::Short)?;
        let mut layers = Layers::default();
        let mut refused = None;
        let answer = http::lines(stream, &request, Instant::now() + timeout, &mut |line| {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
            if let Some(error) = at(&line, &["error"]).as_str() {
                refused.get_or_insert_with(|| error.to_owned());
            }
            if let Some(now) = layers.hear(&line) {
                progress(now);
            }
        });
        match (answer, refused) {
            (Ok(Ok(())), None) => Ok(()),
            (_, Some(said)) => Err(EngineError::in_words(call, 200, &said)),
            (Ok(Err(response)), None) => Err(EngineError::said(call, &response)),
            (Err(trouble), None) => Err(EngineError::trouble(call, trouble)),
        }
    }
}

/// What is known of each layer, by the engine's name for it.
#[derive(Debug, Default)]
struct Layers(BTreeMap<String, Progress>);

/// A registry that makes up layers without end makes no memory of ours full.
const MOST_LAYERS: usize = 1000;

impl Layers {
    /// How far it is, where the line changed that.
    fn hear(&mut self, line: &Value) -> Option<Progress> {
        let id = at(line, &["id"]).as_str()?;
        let detail = |name| at(line, &["progressDetail", name]).as_u64();
        // Unpacking is told with the same numbers, from the beginning.
        if at(line, &["status"]).as_str() != Some("Downloading") {
            return None;
        }
        let (done, total) = (detail("current")?, detail("total").unwrap_or(0));
        if self.0.len() >= MOST_LAYERS && !self.0.contains_key(id) {
            return None;
        }
        self.0.insert(id.to_owned(), Progress { done, total: total.max(done) });
        Some(self.0.values().fold(Progress::default(), |sum, layer| Progress {
            done: sum.done.saturating_add(layer.done),
            total: sum.total.saturating_add(layer.total),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn layers_are_summed_up() {
        let mut layers = Layers::default();
        let line = |id: &str, status: &str, current: u64| json!({ "id": id, "status": status, "progressDetail": { "current": current, "total": 10 } });
        assert_eq!(
            layers.hear(&line("a", "Downloading", 4)),
            Some(Progress { done: 4, total: 10 })
        );
        let both = layers.hear(&line("b", "Downloading", 1));
        assert_eq!(both, Some(Progress { done: 5, total: 20 }));
        assert_eq!(layers.hear(&line("a", "Extracting", 1)), None);
        assert_eq!(layers.hear(&json!({ "status": "Pulling from x" })), None);
    }
}
