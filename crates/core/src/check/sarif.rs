//! Reports as SARIF 2.1.0, which code hosts and editors read.
//!
//! See <https://docs.oasis-open.org/sarif/sarif/v2.1.0/>. Only what we know is written: rules that were found,
//! places, levels.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{FileReport, Finding, Level};

/// One run of the validator over `reports`.
pub fn log(reports: &[FileReport], version: &str) -> Value {
    let findings = || reports.iter().flat_map(|report| &report.findings);
    let rules: BTreeMap<&str, &Finding> =
        findings().map(|finding| (finding.rule.as_str(), finding)).collect();
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|report| report.findings.iter().map(|finding| result(report, finding)))
        .collect();
    let driver = json!({
        "name": "cofferdam",
        "version": version,
        "rules": rules.iter().map(|(id, finding)| rule(id, finding)).collect::<Vec<_>>(),
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results }],
    })
}

fn rule(id: &str, finding: &Finding) -> Value {
    json!({
        "id": id,
        "shortDescription": { "text": finding.message },
        "fullDescription": { "text": finding.reason },
        "defaultConfiguration": { "level": word(finding.level) },
    })
}

fn result(report: &FileReport, finding: &Finding) -> Value {
    json!({
        "ruleId": finding.rule,
        "level": word(finding.level),
        "message": { "text": format!("{} {}", finding.message, finding.reason) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&report.file) },
            "region": {
                "startLine": finding.line, "startColumn": finding.column,
                "endLine": finding.end_line, "endColumn": finding.end_column,
            },
        }}],
    })
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::Deny => "error",
        Level::Warn => "warning",
        Level::Off => "none",
    }
}

/// A path as a relative or absolute URI reference: what has a meaning there is escaped.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_becomes_a_result_with_its_rule() {
        let finding = Finding {
            rule: "python/eval".into(),
            level: Level::Deny,
            line: 3,
            column: 5,
            end_line: 3,
            end_column: 9,
            message: "It evaluates text.".into(),
            reason: "Text is code then.".into(),
            excerpt: "eval(x)".into(),
        };
        let report = FileReport {
            file: "a b.py".into(),
            language: "python".into(),
            findings: vec![finding],
            left_out: 0,
            suppressed: 0,
        };
        let log = log(&[report], "1.2.3");
        let run = &log["runs"][0];
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "python/eval");
        assert_eq!(run["results"][0]["level"], "error");
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.py");
        assert_eq!(place["region"]["startLine"], 3);
    }
}
