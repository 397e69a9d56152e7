//! The description of the API, put together from the handlers themselves.

use std::collections::BTreeMap;

use cofferdam_core::control::problem::Problem;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    AllOf, ContentBuilder, Object, Ref, RefOr, Required, ResponseBuilder, Schema,
};
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

/// What holds for every operation: how it says no. And what holds of no single type: what becomes of parts.
pub(crate) fn complete(api: &mut utoipa::openapi::OpenApi) {
    if let Some(components) = &mut api.components {
        open(&mut components.schemas);
    }
    let known = api.components.as_ref().map(|components| components.schemas.clone());
    let known = known.unwrap_or_default();
    for item in api.paths.paths.values_mut() {
        for operation in operations(item) {
            if let Some(RefOr::T(body)) = &mut operation.request_body
                && may_lack(body, &known)
            {
                body.required = Some(Required::False);
            }
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

/// No body counts as `{}`, so where nothing must stand in it there need be none.
fn may_lack(body: &RequestBody, known: &BTreeMap<String, RefOr<Schema>>) -> bool {
    let Some(RefOr::T(content)) = body.content.get("application/json") else { return false };
    let Some(RefOr::Ref(to)) = &content.schema else { return false };
    let named = to.ref_location.rsplit('/').next().and_then(|name| known.get(name));
    matches!(named, Some(RefOr::T(Schema::Object(object))) if object.required.is_empty())
}

/// What was asked for, with more beside it: no value fits both a part that allows no other fields and the whole. So a whole
/// that has such a part has the fields of its parts as its own, wherever it stands.
fn open(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let known = schemas.clone();
    schemas.values_mut().for_each(|schema| open_within(schema, &known));
}

fn open_within(schema: &mut RefOr<Schema>, known: &BTreeMap<String, RefOr<Schema>>) {
    let RefOr::T(inner) = schema else { return };
    if let Schema::AllOf(whole) = inner
        && let Some(joined) = joined(whole, known)
    {
        *inner = Schema::Object(joined);
    }
    match inner {
        Schema::Object(object) => {
            object.properties.values_mut().for_each(|field| open_within(field, known));
        }
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                open_within(items, known);
            }
        }
        Schema::OneOf(one) => one.items.iter_mut().for_each(|item| open_within(item, known)),
        Schema::AllOf(all) => all.items.iter_mut().for_each(|item| open_within(item, known)),
        Schema::AnyOf(any) => any.items.iter_mut().for_each(|item| open_within(item, known)),
        _ => {}
    }
}

/// The fields of all parts, where one of these is closed.
fn joined(whole: &AllOf, known: &BTreeMap<String, RefOr<Schema>>) -> Option<Object> {
    let part = |item: &RefOr<Schema>| {
        let named = match item {
            RefOr::Ref(to) => known.get(to.ref_location.rsplit('/').next()?)?,
            own => own,
        };
        match named {
            RefOr::T(Schema::Object(part)) => Some(part.clone()),
            _ => None,
        }
    };
    let parts: Vec<Object> = whole.items.iter().map(part).collect::<Option<_>>()?;
    let is_closed = |part: &Object| {
        let others = part.additional_properties.as_deref();
        matches!(others, Some(AdditionalProperties::FreeForm(false)))
    };
    if !parts.iter().any(is_closed) {
        return None;
    }
    let mut joined = Object::new();
    joined.description.clone_from(&whole.description);
    for part in parts {
        joined.required.extend(part.required);
        joined.properties.extend(part.properties);
    }
    Some(joined)
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
