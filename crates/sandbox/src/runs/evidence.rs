//! Hashes of what a run leaves on disk, made when it is closed and compared when the log is verified.

use std::io;
use std::path::Path;

use cofferdam_core::event::Evidence;
use cofferdam_core::receipt::Holding;
use serde_json::Value;

use crate::changes::objects::open_file;

/// The evidence for a run whose record has this value and whose files are in `dir`.
pub(crate) fn gather(record: &Value, dir: &Path) -> io::Result<Evidence> {
    Ok(Evidence {
        record: of_record(record),
        stdout: of_file(&dir.join("stdout"))?,
        stderr: of_file(&dir.join("stderr"))?,
    })
}

/// The first file in `dir` that is not what the evidence says, if there is one.
pub(crate) fn contradiction(evidence: &Evidence, dir: &Path) -> Option<&'static str> {
    let record = std::fs::read(dir.join("record.json")).ok();
    let record: Option<Value> = record.and_then(|bytes| serde_json::from_slice(&bytes).ok());
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

/// The anchor comes after the event that carries this hash, so it is left out.
fn of_record(record: &Value) -> String {
    let mut record = record.clone();
    if let Value::Object(members) = &mut record {
        members.insert("anchor".to_owned(), Value::Null);
    }
    blake3::hash(record.to_string().as_bytes()).to_hex().to_string()
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
