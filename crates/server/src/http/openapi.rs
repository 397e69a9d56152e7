//! The description of the API, put together from the handlers themselves.

use cofferdam_core::control::problem::Problem;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use super::problem::MEDIA_TYPE;

#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Cofferdam",
        description = "The control plane: projects, tasks, workflows, approvals, and what became of them. \
            Every route under `/v1` needs a bearer token; what a token may do is its scopes. \
            What is refused is answered with a problem (RFC 9457) that names the field. \
            Lists come in pages: `next` of one is `after` of the following."
    ),
    components(schemas(Problem)),
    modifiers(&Scheme),
    security(("token" = []))
)]
pub(crate) struct Description;

struct Scheme;

impl Modify for Scheme {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}

/// What holds for every operation: how it says no.
pub(crate) fn complete(api: &mut utoipa::openapi::OpenApi) {
    for item in api.paths.paths.values_mut() {
        for operation in operations(item) {
            for (status, response) in &mut operation.responses.responses {
                if let RefOr::T(response) = response
                    && response.description.is_empty()
                {
                    response.description = words(status).to_owned();
                }
            }
            for (status, words) in [("4XX", "Refused, and why"), ("5XX", "Not possible now")] {
                let content =
                    ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
                let response =
                    ResponseBuilder::new().description(words).content(MEDIA_TYPE, content).build();
                operation.responses.responses.insert(status.to_owned(), response.into());
            }
        }
    }
}

/// A response needs some.
fn words(status: &str) -> &'static str {
    match status {
        "201" => "Made",
        "304" => "Not changed since",
        _ => "Done",
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten()
}
