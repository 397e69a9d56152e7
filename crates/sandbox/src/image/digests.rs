//! By which digest an engine of this host knows an image, so that a base can be pinned to it.

use cofferdam_core::backend::Backend;
use cofferdam_core::image::ImageRef;
use cofferdam_core::project::dockerfile::Digests;
use serde_json::Value;

use crate::engine::{Engine, Patience, Surroundings, at};

/// Digests of those of the images that an engine has from a registry. Without an engine there are none.
pub fn digests(around: &Surroundings, images: &[ImageRef]) -> Digests {
    let engines = [Backend::Docker, Backend::Podman].into_iter();
    let engines: Vec<_> = engines.filter_map(|kind| Engine::find(kind, around).ok()).collect();
    let known = |image: &ImageRef| engines.iter().find_map(|engine| pinned(engine, image));
    images.iter().filter_map(|image| Some((image.clone(), known(image)?))).collect()
}

fn pinned(engine: &Engine, image: &ImageRef) -> Option<ImageRef> {
    let found: Value = engine.get(&format!("/images/{image}/json"), Patience::Short).ok()?;
    let digests = at(&found, &["RepoDigests"]).as_array()?;
    // An image may be known to several registries, under digests of their own.
    let name = image.parts().name;
    let pairs = digests.iter().filter_map(Value::as_str).filter_map(|one| one.split_once('@'));
    let (_, digest) = pairs.into_iter().find(|(known, _)| {
        *known == name || known.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
    })?;
    format!("{image}@{digest}").parse().ok()
}
