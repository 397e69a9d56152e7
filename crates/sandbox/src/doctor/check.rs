//! One question about the host and its answer.

use cofferdam_core::inert::Inert;
use serde::Serialize;

/// Ordered by how bad it is, so that the worst of many is their maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The question does not arise here.
    NotApplicable,
    Ok,
    /// Something works less well, or only when given up by name.
    Warn,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable, for scripts: `overlay.mount`.
    pub id: &'static str,
    pub title: &'static str,
    pub status: Status,
    /// What was seen. One line, inert: other people's text may be in it.
    pub detail: String,
    pub remedy: Option<String>,
}

/// What a check is about; answers are made from it, so that no text gets past [`Inert`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
}

impl Question {
    pub(super) const fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title }
    }

    pub(super) fn ok(self, detail: impl AsRef<str>) -> Check {
        self.answer(Status::Ok, detail.as_ref(), None)
    }

    pub(super) fn not_applicable(self, detail: impl AsRef<str>) -> Check {
        self.answer(Status::NotApplicable, detail.as_ref(), None)
    }

    pub(super) fn warn(self, detail: impl AsRef<str>, remedy: impl AsRef<str>) -> Check {
        self.answer(Status::Warn, detail.as_ref(), Some(remedy.as_ref()))
    }

    pub(super) fn fail(self, detail: impl AsRef<str>, remedy: impl AsRef<str>) -> Check {
        self.answer(Status::Fail, detail.as_ref(), Some(remedy.as_ref()))
    }

    fn answer(self, status: Status, detail: &str, remedy: Option<&str>) -> Check {
        Check {
            id: self.id,
            title: self.title,
            status,
            detail: Inert::line(detail).to_string(),
            remedy: remedy.map(|text| Inert::line(text).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_the_greatest() {
        let mut all = [Status::Fail, Status::Ok, Status::NotApplicable, Status::Warn];
        all.sort();
        assert_eq!(all, [Status::NotApplicable, Status::Ok, Status::Warn, Status::Fail]);
    }

    #[test]
    fn no_answer_can_move_a_cursor_or_add_a_line() {
        let question = Question::new("a.b", "a thing");
        let check = question.fail("x\x1b[2J\ny", "do\rthis");
        assert_eq!(check.detail, "x\\x1b[2J\\ny");
        assert_eq!(check.remedy.as_deref(), Some("do\\rthis"));
    }
}
