//! Test reports in JUnit's form. The cases themselves are counted: what a report says of their number is not
//! believed.

use cofferdam_core::result::JunitCount;
use roxmltree::{Document, Node, ParsingOptions};

/// Most elements, attributes and texts of a report.
const MOST_NODES: u32 = 1_000_000;

pub(super) fn count(text: &str, what: JunitCount) -> Result<f64, String> {
    // Entities that a report defines itself can be made to grow without bound.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| format!("it is no XML: {error}"))?;
    let root = document.root_element().tag_name().name();
    if !matches!(root, "testsuites" | "testsuite") {
        return Err("it is no test report".to_owned());
    }
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let with = |name: &'static str| move |case: &Node<'_, '_>| has(*case, name);
    let number = match what {
        JunitCount::Tests => cases.count(),
        JunitCount::Failures => cases.filter(with("failure")).count(),
        JunitCount::Errors => cases.filter(with("error")).count(),
        JunitCount::Skipped => cases.filter(with("skipped")).count(),
        JunitCount::Passed => {
            let is_bad = |case: &Node<'_, '_>| {
                ["failure", "error", "skipped"].into_iter().any(|name| has(*case, name))
            };
            cases.filter(|case| !is_bad(case)).count()
        }
        JunitCount::Time => return Ok(cases.map(time).sum()),
    };
    Ok(u32::try_from(number).map_or(f64::INFINITY, f64::from))
}

fn has(case: Node<'_, '_>, name: &str) -> bool {
    case.children().any(|child| child.has_tag_name(name))
}

/// A case without a time took none that is known.
fn time(case: Node<'_, '_>) -> f64 {
    case.attribute("time").and_then(|text| text.trim().parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0"?>
        <testsuites tests="900" failures="0">
          <testsuite name="a"><testcase name="1" time="0.5"/>
            <testcase name="2" time="1.25"><failure message="x">text</failure></testcase></testsuite>
          <testsuite name="b"><testcase name="3"><skipped/></testcase>
            <testcase name="4"><error/></testcase><testcase name="5" time="soon"/></testsuite>
        </testsuites>"#;

    #[test]
    fn the_cases_are_counted_and_not_what_is_said_of_them() {
        for (what, number) in [
            (JunitCount::Tests, 5.0),
            (JunitCount::Passed, 2.0),
            (JunitCount::Failures, 1.0),
            (JunitCount::Errors, 1.0),
            (JunitCount::Skipped, 1.0),
            (JunitCount::Time, 1.75),
        ] {
            assert_eq!(count(REPORT, what), Ok(number), "{what:?}");
        }
    }

    #[test]
    fn what_is_no_report_has_no_numbers() {
        assert!(count("", JunitCount::Tests).is_err());
        assert!(count("<html/>", JunitCount::Tests).unwrap_err().contains("no test report"));
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aa\">]><testsuite>&a;</testsuite>";
        assert!(count(bomb, JunitCount::Tests).unwrap_err().contains("no XML"));
    }
}
