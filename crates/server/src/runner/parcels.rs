//! Events in parcels that a server takes: it refuses a message that is too large, and would then know nothing of what it told.
//!
//! [`parcels`] spreads events over several reports, and shortens the one that is too large for any. [`lighten`] is for a report
//! that was refused nevertheless: how an attempt ended is worth more than what else there was to say.

use cofferdam_core::control::report::StatusReport;
use serde_json::{Map, Value, json};

/// Bytes of events in one report: half of what a server takes, so that there is room for the rest of it.
const PARCEL: usize = 512 * 1024;
/// Events in one report, of which a server takes 500.
const MOST_EVENTS: usize = 400;
/// A larger event is shortened.
const LARGEST_EVENT: usize = 256 * 1024;
/// So much stays of each of its members.
const KEPT: usize = 16 * 1024;
/// So much stays of a message whose report was refused for its size.
const MESSAGE: usize = 1024;

/// Never none: without events there is one without any.
pub(super) fn parcels(events: Vec<Value>) -> Vec<Vec<Value>> {
    let (mut parcels, mut size) = (vec![Vec::new()], 0);
    for event in events {
        let event = match length(&event) > LARGEST_EVENT {
            true => shortened(event),
            false => event,
        };
        let length = length(&event);
        let is_full = |last: &Vec<Value>| {
            !last.is_empty() && (size + length > PARCEL || last.len() >= MOST_EVENTS)
        };
        if parcels.last().is_none_or(is_full) {
            parcels.push(Vec::new());
            size = 0;
        }
        size += length;
        if let Some(last) = parcels.last_mut() {
            last.push(event);
        }
    }
    parcels
}

/// Takes out of a report what it can do without, the events first. Whether there was anything.
pub(super) fn lighten(report: &mut StatusReport) -> bool {
    let is_note = |event: &Value| event["type"] == LEFT_OUT;
    let count = report.events.iter().filter(|event| !is_note(event)).count();
    if count > 0 {
        report.events = vec![json!({
            "type": LEFT_OUT, "events": count, "reason": "the server takes no report of that size",
        })];
        return true;
    }
    let result = &mut report.result;
    let large = [&mut result.plan, &mut result.effective, &mut result.receipt, &mut result.usage];
    let mut left_out = large.into_iter().filter_map(Option::take).count();
    left_out += usize::from(result.output_tail.take().is_some());
    if let Some(message) = &mut result.message
        && message.len() > MESSAGE
    {
        // With its mark it is no longer than that: the next time there is nothing to be cut.
        *message = format!("{}…", head(message, MESSAGE - "…".len()));
        left_out += 1;
    }
    if left_out > 0 {
        let reason = "the server takes no report of that size";
        report.events.push(json!({ "type": LEFT_OUT, "members": left_out, "reason": reason }));
    }
    left_out > 0
}

/// What the timeline has instead of what could not be sent.
const LEFT_OUT: &str = "sandbox.report_shortened";

fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// An event without most of what is large in it. `cut` has the length and the hash of each member that was shortened, as JSON in
/// one line: as the runner's own log has it.
fn shortened(event: Value) -> Value {
    let Value::Object(members) = event else { return event };
    let mut cut = Map::new();
    let mut kept = Map::new();
    for (name, value) in members {
        let text = value.to_string();
        if text.len() <= KEPT {
            kept.insert(name, value);
            continue;
        }
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        cut.insert(name.clone(), json!({ "bytes": text.len(), "blake3": hash }));
        kept.insert(name, beginning(value));
    }
    kept.insert("cut".to_owned(), Value::Object(cut));
    Value::Object(kept)
}

/// The beginning of a text, and of a list of words as of a command; nothing of anything else.
fn beginning(value: Value) -> Value {
    match value {
        Value::String(text) => head(&text, KEPT).into(),
        Value::Array(words) => {
            let mut room = KEPT;
            let mut kept = Vec::new();
            for word in words {
                let Value::String(word) = word else { break };
                let part = head(&word, room);
                kept.push(Value::from(part));
                // An empty word takes room, too.
                room = room.saturating_sub(part.len().max(1));
                if room == 0 {
                    break;
                }
            }
            kept.into()
        }
        _ => Value::Null,
    }
}

/// At most so many bytes, in whole characters.
fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use cofferdam_core::control::report::ReportedStatus;
    use cofferdam_core::control::task::AttemptResult;

    use super::*;

    fn event(number: usize, size: usize) -> Value {
        json!({ "type": "sandbox.started", "number": number, "text": "x".repeat(size) })
    }

    #[test]
    fn what_fits_goes_as_it_is() {
        assert_eq!(parcels(Vec::new()), [Vec::<Value>::new()]);
        let events = vec![event(0, 10), event(1, 100_000)];
        assert_eq!(parcels(events.clone()), [events]);
    }

    #[test]
    fn many_and_large_ones_are_spread_in_their_order() {
        for events in [
            (0..20).map(|number| event(number, 200_000)).collect::<Vec<_>>(),
            (0..1000).map(|number| event(number, 1)).collect(),
        ] {
            let parcels = parcels(events.clone());
            assert!(parcels.len() > 1);
            for parcel in &parcels {
                assert!(!parcel.is_empty() && parcel.len() < 500);
                assert!(parcel.iter().map(length).sum::<usize>() <= PARCEL);
            }
            assert_eq!(parcels.concat(), events);
        }
    }

    #[test]
    fn a_command_that_is_too_large_is_shortened_and_can_be_told_by_its_hash() {
        let words = vec!["\\u{202e}".repeat(30_000); 9];
        let whole = json!({ "type": "sandbox.started", "backend": "native", "command": words });
        let sent = parcels(vec![whole.clone()]).concat().remove(0);
        assert!(length(&sent) < 64 * 1024, "{}", length(&sent));
        assert_eq!((&sent["type"], &sent["backend"]), (&whole["type"], &whole["backend"]));
        let kept = sent["command"][0].as_str().unwrap();
        assert!(words[0].starts_with(kept) && kept.len() > 10_000);
        let text = whole["command"].to_string();
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        assert_eq!(sent["cut"]["command"], json!({ "bytes": text.len(), "blake3": hash }));
        // Characters stay whole, and what is neither text nor words goes.
        let odd = json!({ "message": "ä".repeat(200_000), "paths": vec![1; 200_000] });
        let sent = parcels(vec![odd]).concat().remove(0);
        assert!(sent["message"].as_str().unwrap().chars().all(|c| c == 'ä'));
        assert_eq!(sent["paths"], json!([]));
    }

    #[test]
    fn a_refused_report_is_lightened_until_only_the_end_is_left() {
        let result = AttemptResult {
            exit_code: Some(3),
            message: Some("m".repeat(5000)),
            receipt: Some(json!({})),
            ..AttemptResult::default()
        };
        let (fence, events) = (String::new(), vec![event(0, 1), event(1, 1)]);
        let status = ReportedStatus::Failed;
        let mut report = StatusReport { attempt: 1, fence, seq: 1, status, result, events };
        assert!(lighten(&mut report));
        assert_eq!(report.events[0]["events"], 2);
        assert!(report.result.receipt.is_some());
        assert!(lighten(&mut report));
        assert_eq!((report.result.exit_code, &report.result.receipt), (Some(3), &None));
        assert_eq!(report.events[1]["members"], 2);
        assert!(!lighten(&mut report), "there is nothing left to leave out");
    }
}
