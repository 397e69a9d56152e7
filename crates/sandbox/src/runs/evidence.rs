//! Hashes of what a run leaves on disk, made when it is closed and compared when the log is verified.

use std::io;
use std::path::Path;

use cofferdam_core::event::Evidence;
use cofferdam_core::receipt::Holding;
use serde::Serialize;
use serde_json::Value;

use crate::changes::objects::open_file;

/// The evidence for a run whose files are in `dir`, and whose record is this: what becomes the same JSON has the same
/// hash. It has no anchor, for that comes after the event that carries the evidence.
pub(crate) fn gather(record: &impl Serialize, dir: &Path) -> io::Result<Evidence> {
    Ok(Evidence {
        record: of_record(record),
        stdout: of_file(&dir.join("stdout"))?,
        stderr: of_file(&dir.join("stderr"))?,
    })
}

/// The first file in `dir` that is not what the evidence says, if there is one.
pub(crate) fn contradiction(evidence: &Evidence, dir: &Path) -> Option<&'static str> {
    let record = std::fs::read(dir.join("record.json")).ok();
    let mut record: Option<Value> = record.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(Value::Object(members)) = &mut record {
        members.insert("anchor".to_owned(), Value::Null);
    }
    if record.as_ref().map(of_record) != Some(evidence.record.clone()) {
        return Some("record.json");
    }
    // The record says which manifest was sealed, and was just seen to be what it was.
    let sealed = |name: &str| Some(record.as_ref()?["changes"][name].as_str()?.to_owned());
    let (manifest, repository) = (sealed("manifest"), sealed("repository"));
    let files = [
        ("stdout", &evidence.stdout),
        ("stderr", &evidence.stderr),
        ("manifest", &manifest),
        ("git/manifest", &repository),
    ];
    files
        .into_iter()
        .find(|(name, hash)| of_file(&dir.join(name)).ok().as_ref() != Some(*hash))
        .map(|(name, _)| name)
}

fn of_record(record: &impl Serialize) -> String {
    let text = serde_json::to_vec(record)
        .unwrap_or_else(|_| unreachable!("records are structs of text, numbers and lists"));
    blake3::hash(&text).to_hex().to_string()
}

fn of_file(path: &Path) -> io::Result<Option<String>> {
    let mut file = match open_file(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut hasher = blake3::Hasher::new();
    // Most runs print nothing on one of their streams.
    if file.metadata()?.len() > 0 {
        hasher.update_reader(&mut file)?;
    }
    Ok(Some(hasher.finalize().to_hex().to_string()))
}

/// Hash of a receipt as it was when the command began, for the event of that.
pub(crate) fn of_receipt(receipt: &[Holding]) -> Option<String> {
    let text = serde_json::to_vec(receipt).ok()?;
    Some(blake3::hash(&text).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use cofferdam_core::record::Record;

    use super::*;
    use crate::clock;
    use crate::runs::current_owner;

    fn record() -> Record {
        let (now, command) = (clock::now(), vec!["a\u{202e}b".into()]);
        let run = clock::new_run_id(now).unwrap();
        Record::begun(run, command, "/w".into(), "me".to_owned(), current_owner(), now)
    }

    #[test]
    fn a_record_and_its_json_have_one_hash() {
        let record = record();
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(of_record(&record), of_record(&value));
        let pretty = serde_json::to_string_pretty(&record).unwrap();
        let again: Value = serde_json::from_str(&pretty).unwrap();
        assert_eq!(of_record(&record), of_record(&again));
    }

    /// Numbers that a program hands over are read back as they were written, to the last digit.
    #[test]
    fn numbers_survive_their_text() {
        let mut bits: u64 = 1;
        for _ in 0..200_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits(bits);
            if number.is_finite() {
                let text = serde_json::to_string(&number).unwrap();
                let again: f64 = serde_json::from_str(&text).unwrap();
                assert_eq!(again.to_bits(), number.to_bits(), "{text}");
            }
        }
    }
}
