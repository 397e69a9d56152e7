//! Secrets taken out of everything that is kept.
//!
//! A [`Redactor`] knows the values; [`Redactor::stream`] does it for output that comes in pieces, so that
//! a value that is split between two reads is still found. Values shorter than [`MIN_LEN`] are let
//! through: replacing a `1` everywhere would destroy the record and hide nothing.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use crate::env::Secret;
use crate::paths::Arg;
use crate::weaken::{Weakness, weakened};

/// The shortest value that is redacted, in bytes.
pub const MIN_LEN: usize = 4;

const MARK: &str = "[redacted]";

#[derive(Debug, Clone, Default)]
pub struct Redactor {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug)]
struct Inner {
    finder: AhoCorasick,
    longest: usize,
}

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        if weakened(Weakness::Redaction) {
            return Self::default();
        }
        let mut values: Vec<&str> = secrets
            .into_iter()
            .map(Secret::reveal)
            // A value of several lines is printed line by line as often as whole, and a shell drops the
            // white space around a word.
            .flat_map(|value| std::iter::once(value).chain(value.lines()))
            .flat_map(|value| [value, value.trim()])
            .filter(|value| value.len() >= MIN_LEN)
            .collect();
        if values.is_empty() {
            return Self::default();
        }
        values.sort_unstable();
        values.dedup();
        let longest = values.iter().map(|v| v.len()).max().unwrap_or(0);
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values);
        let inner = match finder {
            Ok(finder) => Some(Arc::new(Inner { finder, longest })),
            Err(_) => None,
        };
        Self { inner }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.inner.is_none()
    }

    pub fn text(&self, text: &str) -> String {
        match &self.inner {
            None => text.to_owned(),
            Some(inner) => {
                let marks = vec![MARK; inner.finder.patterns_len()];
                inner.finder.replace_all(text, &marks)
            }
        }
    }

    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.inner {
            None => bytes.to_owned(),
            Some(inner) => {
                let marks = vec![MARK; inner.finder.patterns_len()];
                inner.finder.replace_all_bytes(bytes, &marks)
            }
        }
    }

    /// Redacts arguments before they are encoded or escaped in any way.
    pub fn args(&self, args: &[Arg]) -> Vec<Arg> {
        let redact = |arg: &Arg| OsString::from_vec(self.bytes(arg.0.as_encoded_bytes())).into();
        args.iter().map(redact).collect()
    }

    /// Redacts every string in a JSON value: what is recorded goes through here last.
    pub fn json(&self, value: &mut Value) {
        if self.inner.is_none() {
            return;
        }
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.json(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor { redactor: self.clone(), held: Vec::new() }
    }
}

/// Redaction of one stream of bytes. Holds back as many bytes as a secret may still begin in.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    held: Vec<u8>,
}

impl StreamRedactor {
    /// Takes the next piece and hands on what can no longer be part of a secret.
    pub fn push(&mut self, piece: &[u8], keep: &mut impl FnMut(&[u8])) {
        let Some(inner) = self.redactor.inner.clone() else {
            keep(piece);
            return;
        };
        self.held.extend_from_slice(piece);
        // A match that begins before `safe` ends inside what is held, and is final.
        let safe = self.held.len().saturating_sub(inner.longest - 1);
        let mut done = 0;
        for hit in inner.finder.find_iter(&self.held) {
            if hit.start() >= safe {
                break;
            }
            keep(&self.held[done..hit.start()]);
            keep(MARK.as_bytes());
            done = hit.end();
        }
        if done < safe {
            keep(&self.held[done..safe]);
            done = safe;
        }
        self.held.drain(..done);
    }

    /// The end of the stream: what was held back.
    pub fn finish(mut self, keep: &mut impl FnMut(&[u8])) {
        let rest = std::mem::take(&mut self.held);
        if !rest.is_empty() {
            keep(&self.redactor.bytes(&rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor(values: &[&str]) -> Redactor {
        let secrets: Vec<_> = values.iter().map(|v| Secret::new(*v)).collect();
        Redactor::new(&secrets)
    }

    #[test]
    fn text_and_json() {
        let redactor = redactor(&["hunter22", "xy"]);
        assert_eq!(redactor.text("a hunter22 b xy"), "a [redacted] b xy");
        let mut json = serde_json::json!({"command": ["echo", "hunter22"], "n": 1});
        redactor.json(&mut json);
        assert_eq!(json, serde_json::json!({"command": ["echo", "[redacted]"], "n": 1}));
    }

    #[test]
    fn the_longer_of_two_secrets_is_hidden_whole() {
        assert_eq!(redactor(&["abcd", "abcdefgh"]).text("abcdefgh"), "[redacted]");
    }

    #[test]
    fn arguments_that_are_no_text_and_values_with_white_space() {
        let redactor = redactor(&["  padded value\t"]);
        let odd = Arg(OsString::from_vec(b"\xff  padded value\t".to_vec()));
        assert_eq!(redactor.args(&[odd])[0].0.as_encoded_bytes(), b"\xff[redacted]");
        assert_eq!(redactor.text("<padded value>"), "<[redacted]>");
    }

    #[test]
    fn each_line_of_a_long_secret_counts() {
        assert_eq!(redactor(&["line one\nline two"]).text("> line two <"), "> [redacted] <");
    }

    proptest! {
        /// However the stream is cut, it comes out as if it had come whole.
        #[test]
        fn cutting_a_stream_changes_nothing(
            parts in prop::collection::vec("[ab]{0,5}|secret|topsecret", 0..20),
            cuts in prop::collection::vec(1usize..9, 1..40),
        ) {
            let redactor = redactor(&["secret", "topsecret", "abab"]);
            let whole = parts.concat().into_bytes();
            let mut out = Vec::new();
            let mut keep = |bytes: &[u8]| out.extend_from_slice(bytes);
            let mut stream = redactor.stream();
            let mut rest = &whole[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                stream.push(piece, &mut keep);
                rest = after;
            }
            stream.finish(&mut keep);
            prop_assert_eq!(out, redactor.bytes(&whole));
        }
    }
}
