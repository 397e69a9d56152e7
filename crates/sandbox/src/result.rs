//! Reads what a run handed over, when nothing of it can write any more.
//!
//! The program owns the directory: names in it may be links, pipes or gigabytes. Each is opened without
//! following anything, must be a file and must be small. What is read is kept in the run's directory without
//! the values of secrets, and the directory goes.

mod junit;
mod metrics;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use cofferdam_core::record::Output;
use cofferdam_core::redact::Redactor;
use cofferdam_core::result::{FILE, ResultReport, ResultRule, ResultState};
use cofferdam_native::RESULT;
use jsonschema::{PatternOptions, Validator};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use serde_json::Value;

use crate::state::write_atomically;
use crate::tree::remove_tree;
use metrics::Sources;

/// The run's directory and what is known of its output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) output: &'a Output,
    pub(crate) redactor: &'a Redactor,
}

/// Takes the result in.
pub(crate) fn collect(delivery: Delivery<'_>, rule: &ResultRule) -> ResultReport {
    let place = delivery.dir.join(RESULT);
    let opened = openat(CWD, &place, DIRECTORY, Mode::empty());
    let read = |name: &str| match &opened {
        Ok(place) => read_small(place, name, rule),
        Err(errno) => Err((ResultState::Unread, io::Error::from(*errno).to_string())),
    };
    let mut report = ResultReport {
        state: ResultState::Good,
        message: None,
        bytes: 0,
        hash: None,
        metrics: [].into(),
        missing: [].into(),
    };
    let value = match read(FILE).and_then(|bytes| keep(delivery, &bytes, &mut report)) {
        Ok(bytes) => judge(&bytes, rule, &mut report),
        Err((state, message)) => {
            report.state = state;
            report.message = Some(message);
            None
        }
    };
    let report_text = |name: &str| read(name).map_err(|(_, message)| message);
    let sources = Sources { result: value.as_ref(), report: &report_text, delivery };
    for (name, rule) in &rule.metrics {
        match sources.number(rule) {
            Ok(number) => drop(report.metrics.insert(name.clone(), number)),
            Err(reason) => drop(report.missing.insert(name.clone(), reason)),
        }
    }
    // What would not go stays with the run, and goes with it.
    remove_tree(&place).ok();
    report
}

/// Whether a schema is one. The error says what is wrong with it.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    validator(schema).map(drop)
}

/// A schema refers to nothing outside itself, and its patterns cannot be made to take long.
fn validator(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| error.to_string())
}

type Bad = (ResultState, String);

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn read_small(place: &OwnedFd, name: &str, rule: &ResultRule) -> Result<Vec<u8>, Bad> {
    let unread = |error: io::Error| (ResultState::Unread, error.to_string());
    // A pipe is opened without waiting for anybody.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(place, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Err((ResultState::Missing, format!("there is no {name}"))),
        Err(Errno::LOOP) => return Err((ResultState::NotAFile, format!("{name} is a link"))),
        Err(Errno::NXIO) => return Err((ResultState::NotAFile, format!("{name} is no file"))),
        Err(errno) => return Err(unread(errno.into())),
    };
    let stat = fstat(&file).map_err(|errno| unread(errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err((ResultState::NotAFile, format!("{name} is no file")));
    }
    let mut bytes = Vec::new();
    let most = rule.limit.0.saturating_add(1);
    File::from(file).take(most).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > rule.limit.0 {
        return Err((ResultState::TooLarge, format!("{name} has more than {}", rule.limit)));
    }
    Ok(bytes)
}

/// Keeps the result with the run and returns it as it was kept.
fn keep(delivery: Delivery<'_>, bytes: &[u8], report: &mut ResultReport) -> Result<Vec<u8>, Bad> {
    let bytes = delivery.redactor.bytes(bytes);
    write_atomically(&delivery.dir.join(FILE), &bytes)
        .map_err(|error| (ResultState::Unread, crate::cause::in_words(&error)))?;
    report.bytes = bytes.len() as u64;
    report.hash = Some(blake3::hash(&bytes).to_hex().to_string());
    Ok(bytes)
}

/// The result, where it may be used.
fn judge(bytes: &[u8], rule: &ResultRule, report: &mut ResultReport) -> Option<Value> {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            report.state = ResultState::NotJson;
            report.message = Some(error.to_string());
            return None;
        }
    };
    let unfit = rule.schema.as_ref().and_then(|schema| match validator(schema) {
        Ok(validator) => {
            let error = validator.iter_errors(&value).next()?;
            Some(format!("{error} (at {:?})", error.instance_path().as_str()))
        }
        Err(error) => Some(format!("the schema is none: {error}")),
    });
    if unfit.is_some() {
        report.state = ResultState::Unfit;
        report.message = unfit;
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests;
