//! `?limit=&after=` of every list.

use axum::http::StatusCode;
use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::page::{Page, Paging};
use serde::Deserialize;
use utoipa::IntoParams;

use super::problem::{Answer, Refused};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paged {
    /// How many at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// What the page before said was next.
    after: Option<String>,
}

impl Paged {
    pub(crate) fn paging(self) -> Answer<Paging> {
        paging(self.limit, self.after)
    }
}

/// The same for things that belong to projects.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PagedOf {
    /// Only what belongs to this one.
    pub(crate) project: Option<ProjectId>,
    /// How many at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// What the page before said was next.
    after: Option<String>,
}

impl PagedOf {
    pub(crate) fn paging(self) -> Answer<Paging> {
        paging(self.limit, self.after)
    }
}

pub(crate) fn paging(limit: Option<u32>, after: Option<String>) -> Answer<Paging> {
    let limit = limit.unwrap_or(Paging::default().limit);
    if !(1..=Paging::MOST).contains(&limit) {
        let detail = format!("limit: a page has 1 to {} items", Paging::MOST);
        return Err(Refused::new(StatusCode::BAD_REQUEST, "invalid-query", detail).field("limit"));
    }
    Ok(Paging { limit, after })
}

/// A number that counts something: no store has more than 63 bits for it.
pub(crate) fn counted(field: &str, number: Option<u64>) -> Answer<Option<u64>> {
    if number.is_some_and(|number| i64::try_from(number).is_err()) {
        let detail = format!("{field}: nothing has so high a number");
        return Err(Refused::new(StatusCode::BAD_REQUEST, "invalid-query", detail).field(field));
    }
    Ok(number)
}

/// A list that is never long enough for a second page: of settings there are as many as there are.
pub(crate) fn whole<T>(items: Vec<T>) -> Page<T> {
    Page { items, next: None }
}
