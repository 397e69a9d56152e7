//! Single values from text. An error says what is wrong and what would be right.

use std::str::FromStr;

use crate::mount::MountRequest;
use crate::quantity::{ByteSize, Span};
use crate::spec::Seccomp;

pub(super) fn read<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

pub(super) fn size(text: &str, min: ByteSize, max: Option<ByteSize>) -> Result<ByteSize, String> {
    let size: ByteSize = read(text)?;
    match max {
        _ if size < min => Err(format!("{size} is too small: write {min} or more")),
        Some(max) if size > max => Err(format!("{size} is too large: write {max} or less")),
        _ => Ok(size),
    }
}

pub(super) fn count(text: &str, min: u32, max: u32) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let count = digits.then(|| text.parse().ok()).flatten();
    count
        .filter(|count| (min..=max).contains(count))
        .ok_or_else(|| format!("{text:?} is not a whole number from {min} to {max}"))
}

pub(super) fn span(text: &str, min: Span, max: Span) -> Result<Span, String> {
    let span: Span = read(text)?;
    if (min..=max).contains(&span) {
        Ok(span)
    } else {
        Err(format!("{span} is out of range: write {min} to {max}"))
    }
}

pub(super) fn word<T>(
    text: &str,
    names: &[&str],
    parse: fn(&str) -> Option<T>,
) -> Result<T, String> {
    parse(text).ok_or_else(|| format!("{text:?} is not one of {}", names.join(", ")))
}

pub(super) fn mount(text: &str) -> Result<MountRequest, String> {
    path(text)?;
    read(text)
}

pub(super) fn path(text: &str) -> Result<&str, String> {
    if text.is_empty() || text.contains('\0') {
        return Err(format!("{text:?} is not a path"));
    }
    Ok(text)
}

pub(super) fn env_value(text: &str) -> Result<String, String> {
    if text.contains('\0') {
        return Err("a value with a NUL byte cannot stand in an environment".to_owned());
    }
    Ok(text.to_owned())
}

/// A bare word is no path here: `seccomp: defualt` must not wait for a file of that name.
pub(super) fn seccomp(text: &str) -> Result<Seccomp, String> {
    match text {
        "default" => Ok(Seccomp::Default),
        _ if text.contains('/') || text.ends_with(".json") => Ok(Seccomp::File(path(text)?.into())),
        _ => Err(format!("{text:?} is neither `default` nor a path, such as ./profile.json")),
    }
}

pub(super) fn simple_name(text: &str) -> Result<String, String> {
    let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let good = text.bytes().next().is_some_and(first)
        && text.bytes().all(|b| first(b) || b"._-".contains(&b));
    if good && text.len() <= 64 {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not a name: use lower-case letters, digits, `.`, `_` and `-`"))
    }
}

/// A pattern of paths to hide, by the rules of what hides them: `*` and `?` within a name, `**` as a name.
pub(super) fn blocked(text: &str) -> Result<String, String> {
    let names: Vec<&str> =
        text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    let fault = if text.chars().any(char::is_control) {
        Some("it has a control character")
    } else if names.contains(&"..") {
        Some("it leads out of the workspace")
    } else if text.contains(['[', ']', '{', '}']) {
        // Taken as they stand they would hide nothing, and nobody would be told.
        Some("sets in brackets are not known here: write a pattern for each, or `?` for a bracket")
    } else {
        match names.last() {
            None => Some("it names nothing below the workspace"),
            Some(&"**") => Some("it ends in `**`: name the directory alone, which hides it whole"),
            Some(_) => None,
        }
    };
    match fault {
        Some(fault) => Err(format!("{text:?} is not a pattern of paths to hide: {fault}")),
        None => Ok(text.to_owned()),
    }
}

/// `HOST` or `HOST:PORT`; a name, an IPv4 address, or an IPv6 address in brackets. In lower case.
pub(super) fn host(text: &str) -> Result<String, String> {
    let bad = || format!("{text:?} is not a host: write NAME or NAME:PORT, as in example.org:443");
    let port_at = match text.rfind(']') {
        Some(end) => text[end..].find(':').map(|at| end + at),
        None => text.find(':'),
    };
    let (name, port) = match port_at {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let port_is_good = port.is_none_or(|port| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    let name_is_good = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.len() <= 253 && name.split('.').all(is_label),
    };
    if name_is_good && port_is_good { Ok(text.to_ascii_lowercase()) } else { Err(bad()) }
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && !label.starts_with('-')
        && !label.ends_with('-')
}
