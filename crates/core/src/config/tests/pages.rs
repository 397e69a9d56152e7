use serde_json::Value as Json;

use super::*;

/// The dotted names of the leaves that have a default.
fn leaves(node: &Json, prefix: &str, found: &mut Vec<String>) {
    for (name, inner) in node["properties"].as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        if inner.get("default").is_some() {
            found.push(name);
        } else {
            assert_eq!(inner["additionalProperties"], false, "{name}");
            leaves(inner, &format!("{name}."), found);
        }
    }
}

#[test]
fn the_schema_has_every_key_and_no_other() {
    let mut found = Vec::new();
    leaves(&schema(), "", &mut found);
    found.sort();
    let mut names: Vec<_> = Key::ALL.iter().map(|key| key.name().to_owned()).collect();
    names.sort();
    assert_eq!(found, names);
}

#[test]
fn every_default_can_be_written_in_a_file() {
    for key in Key::ALL {
        let value = key.default();
        let nested = key.name().replace('.', ": {");
        let closing = "}".repeat(key.name().matches('.').count());
        for written in [value.to_json().to_string(), value.to_string()] {
            let entries = host(&format!("{nested}: {written}{closing}"));
            assert_eq!(entries.get(*key).map(|(value, _)| value), Some(&value), "{key}");
        }
    }
}

#[test]
fn the_page_has_every_key_with_its_flag_and_variable() {
    let page = reference();
    for key in Key::ALL {
        assert!(page.contains(&format!("### `{key}`\n")), "{key}");
    }
    assert!(page.contains("flag `--pass-env`, variable `COFFERDAM_PASS_ENV`"));
}

#[test]
fn names_flags_and_variables_are_unique_and_read_back() {
    use std::collections::BTreeSet;
    let names: BTreeSet<_> = Key::ALL.iter().map(|key| key.name()).collect();
    assert_eq!(names.len(), Key::ALL.len());
    let variables: Vec<_> = Key::ALL.iter().filter_map(|key| key.variable()).collect();
    assert_eq!(variables.iter().collect::<BTreeSet<_>>().len(), variables.len());
    assert!(variables.contains(&"COFFERDAM_SANDBOX".to_owned()));
    assert!(variables.contains(&"COFFERDAM_IDLE_TIMEOUT".to_owned()));
    for key in Key::ALL {
        assert_eq!(Key::named(key.name()), Some(*key));
        let json = serde_json::to_string(key).unwrap();
        assert_eq!(json, format!("\"{key}\""));
        assert_eq!(serde_json::from_str::<Key>(&json).unwrap(), *key);
    }
}
