//! Things that are kept as documents: found, listed and put back, whatever they are.

use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::page::{Page, Paging};
use serde::de::DeserializeOwned;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use crate::store::{Sql, StoreError, first, from_doc, rows};

/// Of tasks: nothing has ended them yet.
pub(super) const NOT_OVER: &str =
    "state IN ('created', 'awaiting_approval', 'queued', 'claimed', 'running', 'cancel_requested')";

pub(super) async fn find<T: DeserializeOwned>(
    db: &mut AnyConnection,
    table: &'static str,
    sql: Sql,
) -> Result<Option<T>, PlaneError> {
    Ok(match first(db, sql).await? {
        None => None,
        Some(row) => Some(from_doc(&row, table)?),
    })
}

pub(super) async fn all<T: DeserializeOwned>(
    db: &mut AnyConnection,
    table: &'static str,
    sql: Sql,
) -> Result<Vec<T>, PlaneError> {
    let rows = rows(db, sql).await?;
    let docs: Result<Vec<T>, StoreError> = rows.iter().map(|row| from_doc(row, table)).collect();
    Ok(docs?)
}

/// Only what the caller may know of. The statement must have come as far as its conditions.
pub(super) fn visible(sql: Sql, caller: &Caller) -> Sql {
    known(sql, caller, " AND project IN ('-'")
}

/// The same by a list that `begun` begins, with what is in it for everybody: for nobody is `'-'`.
pub(super) fn known(mut sql: Sql, caller: &Caller, begun: &'static str) -> Sql {
    let Some(known) = &caller.projects else { return sql };
    sql = sql.and(begun);
    for project in known {
        sql = sql.and(", ?").text(project);
    }
    sql.and(")")
}

/// Ends a statement over ids: the newest first, one more than is shown.
pub(super) fn newest_first(mut sql: Sql, paging: &Paging) -> Result<Sql, PlaneError> {
    if let Some(after) = &paging.after {
        let id: Result<ProjectId, _> = after.parse();
        id.map_err(|_| not_next())?;
        sql = sql.and(" AND id < ?").text(after);
    }
    Ok(sql.and(" ORDER BY id DESC LIMIT ?").number(limit(paging)? + 1))
}

pub(super) fn limit(paging: &Paging) -> Result<u32, PlaneError> {
    if (1..=Paging::MOST).contains(&paging.limit) {
        return Ok(paging.limit);
    }
    let message = format!("a page has 1 to {} items", Paging::MOST);
    Err(PlaneError::field("limit", message, "ask for several pages"))
}

/// Cuts what is one too many, and says what is next.
pub(super) fn page<T>(mut items: Vec<T>, paging: &Paging, id: impl Fn(&T) -> String) -> Page<T> {
    let most = paging.limit as usize;
    let more = items.len() > most;
    items.truncate(most);
    let next = if more { items.last().map(id) } else { None };
    Page { items, next }
}

/// A page of a list that is at hand as a whole, in its order. Nothing is ever taken out of such a list, so that what a
/// page ended with is found again.
pub(super) fn page_of<T>(
    all: Vec<T>,
    paging: &Paging,
    id: impl Fn(&T) -> String,
) -> Result<Page<T>, PlaneError> {
    limit(paging)?;
    let begin = match &paging.after {
        None => 0,
        Some(after) => {
            let last = all.iter().position(|item| id(item) == *after);
            last.ok_or_else(not_next)? + 1
        }
    };
    Ok(page(all.into_iter().skip(begin).collect(), paging, id))
}

pub(super) fn not_next() -> PlaneError {
    PlaneError::field("after", "it is not what a page said was next", "leave it out")
}

/// Refuses what was read before somebody else changed it.
pub(super) fn same_version(have: u64, wanted: Option<u64>) -> Result<(), PlaneError> {
    match wanted {
        Some(wanted) if wanted != have => Err(PlaneError::Version { version: have }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_core::control::state::TaskState;

    use super::*;

    #[test]
    fn what_is_not_over_is_what_is_not_terminal() {
        for state in TaskState::ALL {
            let is_listed = NOT_OVER.contains(&format!("'{state}'"));
            assert_eq!(is_listed, !state.is_terminal(), "{state}");
        }
    }
}
