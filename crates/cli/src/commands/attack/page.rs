//! The results as a page for the documentation.

use cofferdam_core::attack::Group;
use cofferdam_sandbox::attack::{Finding, Report, Verdict};

pub(super) fn write(reports: &[Report]) -> String {
    let mut text = HEAD.to_owned();
    for report in reports {
        text.push_str(&format!("- {}\n", super::score(report)));
    }
    for group in Group::ALL {
        text.push_str(&format!("\n## {}: {}\n\n", group.letter(), group.title()));
        let names: Vec<&str> = reports.iter().map(|report| report.backend.name()).collect();
        text.push_str(&format!("| attack | tried | what must hold | {} |\n", names.join(" | ")));
        text.push_str(&format!("|---|---|---|{}\n", "---|".repeat(names.len())));
        let Some(first) = reports.first() else { continue };
        for (number, finding) in first.findings.iter().enumerate().filter(|(_, f)| f.group == group)
        {
            let cells = reports.iter().filter_map(|report| report.findings.get(number)).map(cell);
            let cells: Vec<&str> = cells.collect();
            let Finding { id, tried, holds, .. } = finding;
            text.push_str(&format!("| `{id}` | {tried} | {holds} | {} |\n", cells.join(" | ")));
        }
    }
    text
}

const HEAD: &str = "\
# Attacks

What `cofferdam attack` tries, and what came of it where this page was made, as root, by
`cofferdam attack --page docs/attacks.md`. Run it on your own host: what a backend holds depends on the kernel and the engine. *Limit* is a known one, see
[known limits](known-limits.md); *not run* is what could not be tried there, and is not counted as held.

";

const fn cell(finding: &Finding) -> &'static str {
    match finding.verdict {
        Verdict::Held => "held",
        Verdict::Broken => "**broken**",
        Verdict::KnownLimit => "*limit*",
        Verdict::NotRun => "not run",
        Verdict::Open => "open",
    }
}
