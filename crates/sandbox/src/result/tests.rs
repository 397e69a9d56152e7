use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cofferdam_core::env::Secret;
use cofferdam_core::quantity::ByteSize;
use cofferdam_core::result::MetricRule;
use rustix::fs::mknodat;
use serde_json::json;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    output: Output,
    redactor: Redactor,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(RESULT)).unwrap();
        Self { dir, output: Output::default(), redactor: Redactor::default() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(RESULT).join(name)
    }

    fn collect(&self, rule: &ResultRule) -> ResultReport {
        let Self { dir, output, redactor } = self;
        let report = collect(Delivery { dir: dir.path(), output, redactor }, rule);
        assert!(!dir.path().join(RESULT).exists(), "the program's directory goes");
        report
    }
}

fn metrics(rules: &[(&str, &str)]) -> ResultRule {
    let rule = |text: &str| text.parse::<MetricRule>().unwrap();
    let metrics = rules.iter().map(|(name, text)| ((*name).to_owned(), rule(text))).collect();
    ResultRule { metrics, ..ResultRule::default() }
}

#[test]
fn a_good_result_is_kept_and_hashed() {
    let place = Place::new();
    fs::write(place.file(FILE), r#"{"score": 1.5, "runs": [{"n": 3}]}"#).unwrap();
    let rule = metrics(&[("score", "pointer:/score"), ("n", "pointer:/runs/0/n")]);
    let report = place.collect(&rule);
    assert_eq!((report.state, report.bytes), (ResultState::Good, 34));
    assert_eq!(report.metrics, [("score".to_owned(), 1.5), ("n".to_owned(), 3.0)].into());
    let kept = fs::read(place.dir.path().join(FILE)).unwrap();
    assert_eq!(report.hash.unwrap(), blake3::hash(&kept).to_hex().as_str());
}

#[test]
fn what_is_no_small_file_is_not_read() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), r#"{"score": 9}"#).unwrap();
    type Made<'a> = (&'a str, &'a dyn Fn(PathBuf), ResultState);
    let made: [Made<'_>; 6] = [
        ("nothing", &|_| {}, ResultState::Missing),
        ("a link", &|path| symlink(secret.path(), path).unwrap(), ResultState::NotAFile),
        ("a directory", &|path| fs::create_dir(path).unwrap(), ResultState::NotAFile),
        (
            "a pipe",
            &|path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
            ResultState::NotAFile,
        ),
        (
            "a terabyte",
            &|path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
            ResultState::TooLarge,
        ),
        ("no JSON", &|path| fs::write(path, "{\"score\": 1").unwrap(), ResultState::NotJson),
    ];
    for (what, make, state) in made {
        let place = Place::new();
        make(place.file(FILE));
        let report = place.collect(&metrics(&[("score", "pointer:/score")]));
        assert_eq!(report.state, state, "{what}");
        assert!(report.metrics.is_empty() && report.missing.contains_key("score"), "{what}");
        assert!(report.message.is_some(), "{what}");
    }
}

#[test]
fn the_limit_is_exact() {
    for (limit, state) in [(4, ResultState::Good), (3, ResultState::TooLarge)] {
        let place = Place::new();
        fs::write(place.file(FILE), "1234").unwrap();
        let rule = ResultRule { limit: ByteSize(limit), ..ResultRule::default() };
        assert_eq!(place.collect(&rule).state, state);
    }
}

#[test]
fn a_schema_is_held_to() {
    let schema = json!({ "type": "object", "required": ["score"],
        "properties": { "score": { "type": "number", "minimum": 0 } } });
    let rule = ResultRule { schema: Some(schema), ..metrics(&[("score", "pointer:/score")]) };
    for (text, state) in [
        (r#"{"score": 0}"#, ResultState::Good),
        (r#"{"score": -1}"#, ResultState::Unfit),
        (r#"{"points": 1}"#, ResultState::Unfit),
        (r#"[]"#, ResultState::Unfit),
    ] {
        let place = Place::new();
        fs::write(place.file(FILE), text).unwrap();
        let report = place.collect(&rule);
        assert_eq!(report.state, state, "{text}: {report:?}");
        assert_eq!(report.metrics.is_empty(), state != ResultState::Good, "{text}");
    }
    assert!(check_schema(&json!({ "type": "nonsense" })).is_err());
    assert!(check_schema(&json!({ "$ref": "http://127.0.0.1:1/schema" })).is_err());
    assert!(check_schema(&json!({ "$ref": "file:///etc/passwd" })).is_err());
}

#[test]
fn numbers_are_found_where_the_rules_say() {
    let mut place = Place::new();
    fs::write(place.file("report.xml"), "<testsuite><testcase/><testcase/></testsuite>").unwrap();
    fs::write(place.dir.path().join("stdout"), "loss=3\nloss=0.25 \nloss=nan\nscore=inf").unwrap();
    place.output.stdout.head = 36;
    symlink("/etc/hostname", place.file("link.xml")).unwrap();
    let report = place.collect(&metrics(&[
        ("tests", "junit:report.xml:tests"),
        ("loss", "stdout:loss=([0-9.]+)"),
        ("score", "stdout:score=(.*)"),
        ("silent", "stderr:(.*)x"),
        ("gone", "junit:gone.xml:tests"),
        ("link", "junit:link.xml:tests"),
    ]));
    assert_eq!(report.metrics, [("tests".to_owned(), 2.0), ("loss".to_owned(), 0.25)].into());
    let missing: Vec<_> = report.missing.keys().map(String::as_str).collect();
    assert_eq!(missing, ["gone", "link", "score", "silent"]);
}

#[test]
fn secrets_are_not_kept() {
    let mut place = Place::new();
    place.redactor = Redactor::new([&Secret::new("s3cr3t-t0k3n")]);
    fs::write(place.file(FILE), r#"{"token": "s3cr3t-t0k3n"}"#).unwrap();
    assert_eq!(place.collect(&ResultRule::default()).state, ResultState::Good);
    let kept = fs::read_to_string(place.dir.path().join(FILE)).unwrap();
    assert!(!kept.contains("s3cr3t"), "{kept}");
}
