//! Results of tools: text that is inert and bounded, and the same as values.

use cofferdam_core::inert::Inert;
use cofferdam_sandbox::runs::KeptOutput;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// Bytes of text in one result, at most, of each stream.
pub(super) const MOST: usize = 48 * 1024;

/// Text of a program, shown so that no terminal obeys it, with its beginning and its end.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Bytes that are not shown.
    pub(super) left_out: u64,
    /// Whether there are more that were not even read.
    pub(super) at_least: bool,
}

impl Shown {
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        Self::of(bytes, 0, &[])
    }

    pub(super) fn kept(kept: &KeptOutput) -> Self {
        Self::of(&kept.head, kept.dropped, &kept.tail)
    }

    /// Of what was not read to its end.
    pub(super) fn beginning(read: &[u8]) -> Self {
        let first = &read[..read.len().min(MOST)];
        let left_out = (read.len() - first.len()) as u64;
        let text = format!("{}\n[more than {left_out} bytes left out]\n", Inert::block(first));
        Self { text, left_out, at_least: true }
    }

    fn of(head: &[u8], dropped: u64, tail: &[u8]) -> Self {
        let inert = |bytes: &[u8]| Inert::block(bytes).to_string();
        if dropped == 0 && head.len() + tail.len() <= MOST {
            return Self { text: inert(&[head, tail].concat()), left_out: 0, at_least: false };
        }
        let whole = if dropped == 0 { [head, tail].concat() } else { Vec::new() };
        let (head, tail) = if dropped == 0 { (&whole[..], &whole[..]) } else { (head, tail) };
        let first = &head[..head.len().min(MOST / 2)];
        let last = &tail[tail.len() - tail.len().min(MOST / 2)..];
        let all = if dropped == 0 { head.len() } else { head.len() + tail.len() };
        let left_out = dropped + (all - first.len() - last.len()) as u64;
        let text = format!("{}\n[{left_out} bytes left out]\n{}", inert(first), inert(last));
        Self { text, left_out, at_least: false }
    }
}

/// A result as values, and the same for people.
pub(super) fn good(text: impl Into<String>, value: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(value);
    result
}

/// The tool could not do it, and the agent is to know why.
pub(super) fn bad(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(Inert::block(why).to_string())])
}
