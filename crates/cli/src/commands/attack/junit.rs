//! What was found, for programs that read test results: a suite a backend, a case an attack.

use cofferdam_core::inert::Inert;
use cofferdam_sandbox::attack::{Report, Verdict};

pub(super) fn write(reports: &[Report]) -> String {
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cofferdam attack\">\n"
            .to_owned();
    for report in reports {
        let failures = report.count(Verdict::Broken);
        let skipped = report.count(Verdict::NotRun) + report.count(Verdict::KnownLimit);
        text.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n",
            report.backend,
            report.findings.len()
        ));
        for finding in &report.findings {
            let name = escaped(&format!("{} {}", finding.id, finding.tried));
            let class = format!("{}.{}", report.backend, finding.group.letter());
            let why = escaped(finding.because.as_deref().unwrap_or_default());
            let inner = match finding.verdict {
                Verdict::Held | Verdict::Open => String::new(),
                Verdict::Broken => format!("<failure message=\"{why}\"/>"),
                Verdict::KnownLimit => format!("<skipped message=\"known limit: {why}\"/>"),
                Verdict::NotRun => format!("<skipped message=\"{why}\"/>"),
            };
            text.push_str(&format!(
                "    <testcase classname=\"{class}\" name=\"{name}\">{inner}</testcase>\n"
            ));
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// Inert first: XML has no way to say most control characters.
fn escaped(text: &str) -> String {
    let text = Inert::line(text).to_string();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use cofferdam_core::attack::Group;
    use cofferdam_core::backend::Backend;
    use cofferdam_sandbox::attack::Finding;

    use super::*;

    #[test]
    fn what_broke_is_a_failure_and_what_was_not_run_is_skipped() {
        let finding = |verdict, because: Option<&str>| Finding {
            id: "C-x",
            group: Group::Escape,
            tried: "a < b & \"c\"",
            holds: "it does",
            verdict,
            because: because.map(str::to_owned),
        };
        let findings = vec![
            finding(Verdict::Held, None),
            finding(Verdict::Broken, Some("\u{1b}[2J<x>")),
            finding(Verdict::NotRun, Some("no")),
        ];
        let text = write(&[Report { backend: Backend::Native, unusable: None, findings }]);
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{text}");
        assert!(text.contains("name=\"C-x a &lt; b &amp; &quot;c&quot;\"></testcase>"), "{text}");
        assert!(text.contains("&lt;x&gt;") && !text.contains('\u{1b}'), "{text}");
    }
}
