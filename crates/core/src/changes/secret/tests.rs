use super::*;

#[test]
fn every_rule_finds_its_examples_and_nothing_in_the_others() {
    for rule in rules::ALL {
        assert!(!rule.examples.is_empty(), "{}", rule.name);
        for text in rule.examples {
            let text = format!("first\n{text}\nlast");
            let found = scan(text.as_bytes());
            assert!(
                found.contains(&Finding { rule: rule.name, place: Place::Line(2) }),
                "{} in {text:?}: {found:?}",
                rule.name
            );
        }
        for text in rule.others {
            assert_eq!(scan(text.as_bytes()), [], "{} in {text:?}", rule.name);
        }
    }
}

#[test]
fn a_value_is_found_once_by_the_more_particular_rule() {
    let token = concat!("gh", "p_x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU");
    let text = format!("token = \"{token}\"\n\nAPI_TOKEN={token}\n");
    let found = scan(text.as_bytes());
    let expected = [1, 3].map(|line| Finding { rule: "a GitHub token", place: Place::Line(line) });
    assert_eq!(found, expected);
}

#[test]
fn what_was_there_before_is_not_new() {
    let old = "password = \"k7Qz2mB9vT4kL8nR\"\n";
    let moved = format!("one more line\n{old}");
    let changed = format!("{old}password = \"Zx8Qz2mB9vT4kL8n\"\n");
    assert_eq!(introduced(old.as_bytes(), moved.as_bytes()), []);
    assert_eq!(introduced(old.as_bytes(), changed.as_bytes()).len(), 1);
    assert_eq!(introduced(old.as_bytes(), changed.as_bytes())[0].place, Place::Line(2));
    assert_eq!(introduced(b"", old.as_bytes()).len(), 1);
}

#[test]
fn ordinary_code_has_no_secrets() {
    for text in [
        include_str!("../../config/key.rs"),
        include_str!("../class/table/build.rs"),
        include_str!("../../redact.rs"),
    ] {
        assert_eq!(scan(text.as_bytes()), []);
    }
    let hash = "checksum = \"2d3e9a6ab2cf0a5ec8a8d5f9d1b8d3f6c4b7a1e0d2c3b4a5968778695a4b3c2d\"\n";
    assert_eq!(scan(hash.repeat(100).as_bytes()), []);
}

#[test]
fn neither_length_nor_number_makes_it_slow_or_large() {
    let line = concat!("AK", "IAY34FZKBOKMUTVV7A ").repeat(30_000);
    let found = scan(line.as_bytes());
    assert_eq!(found, [Finding { rule: "an AWS access key", place: Place::Line(1) }]);
    let many = line.replace(' ', "\n");
    assert_eq!(scan(many.as_bytes()).len(), MOST_FINDINGS);
    for hostile in ["eyJ", "password=", "sk-", "-----BEGIN ", "a://b:", "\n", "\0"] {
        assert_eq!(scan(hostile.repeat(30_000).as_bytes()), [], "{hostile:?}");
    }
    let mut late = vec![b' '; LOOKED_AT];
    late.extend_from_slice(concat!("AK", "IAY34FZKBOKMUTVV7A").as_bytes());
    assert_eq!(scan(&late), []);
}

#[test]
fn text_of_two_bytes_a_letter_is_read() {
    let text = concat!("first\nkey = gh", "p_x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU\n");
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let wide: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let expected = [Finding { rule: "a GitHub token", place: Place::Line(2) }];
    for bytes in [little, big, wide] {
        assert_eq!(scan(&bytes), expected);
        assert_eq!(introduced(text.as_bytes(), &bytes), [], "it was there, in other clothes");
    }
}

#[test]
fn names_and_targets_are_words() {
    let token = concat!("gh", "p_x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU");
    let found = in_words(format!("notes-{token}.txt").as_bytes(), Place::Name).unwrap();
    assert_eq!((found.rule, found.place.to_string()), ("a GitHub token", "in its name".into()));
    assert_eq!(in_words(b"src/main.rs", Place::Target), None);
}
