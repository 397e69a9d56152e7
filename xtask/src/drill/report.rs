//! What a drill counted, and what it found wrong.

use std::process::ExitCode;

use serde_json::json;

/// Nothing wrong is what one wants to see; a drill that counted nothing has shown nothing.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) drill: &'static str,
    counts: Vec<(String, String)>,
    pub(crate) wrong: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Print {
    Text,
    Json,
}

impl Report {
    pub(super) fn new(drill: &'static str) -> Self {
        Self { drill, counts: Vec::new(), wrong: Vec::new() }
    }

    pub(super) fn count(&mut self, what: impl Into<String>, value: impl ToString) {
        self.counts.push((what.into(), value.to_string()));
    }

    pub(super) fn wrong(&mut self, what: impl Into<String>) {
        self.wrong.push(what.into());
    }

    /// Wrong unless `holds`.
    pub(super) fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.wrong(otherwise());
        }
    }

    pub(super) fn close(&self, print: Print) -> ExitCode {
        match print {
            Print::Text => print!("{}", self.text()),
            Print::Json => println!("{}", self.json()),
        }
        if self.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("drill {}\n", self.drill);
        for (what, value) in &self.counts {
            text += &format!("  {what:44} {value:>10}\n");
        }
        for wrong in &self.wrong {
            text += &format!("  WRONG {wrong}\n");
        }
        text + &match self.wrong.len() {
            0 => "  nothing lost, nothing left\n".to_owned(),
            count => format!("  {count} wrong\n"),
        }
    }

    fn json(&self) -> String {
        let counts: serde_json::Map<_, _> =
            self.counts.iter().map(|(what, value)| (what.clone(), json!(value))).collect();
        json!({ "drill": self.drill, "counts": counts, "wrong": self.wrong }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_wrong_fails_and_is_said_in_both_forms() {
        let mut report = Report::new("load");
        report.count("agents", 64);
        report.expect(true, || unreachable!("it holds"));
        assert_eq!(report.close(Print::Text), ExitCode::SUCCESS);
        report.expect(false, || "agent 3 saw agent 4".to_owned());
        assert_eq!(report.close(Print::Json), ExitCode::FAILURE);
        assert!(report.text().contains("WRONG agent 3 saw agent 4\n"), "{}", report.text());
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(
            (&json["counts"]["agents"], &json["wrong"][0]),
            (&json!("64"), &json!("agent 3 saw agent 4"))
        );
    }
}
