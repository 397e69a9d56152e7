//! What is said of a command that wanted more processes than it may have.

use cofferdam_core::record::Usage;

/// `None` where every process was started. A program that gets none often says no more than "try again".
pub(crate) fn refused(usage: Option<&Usage>, limit: Option<u32>) -> Option<String> {
    let count = usage?.pids_refused;
    let limit = match limit {
        Some(limit) => format!("there may be {limit} at a time (--pids)"),
        None => "there were as many as the session may have (session start --pids)".to_owned(),
    };
    let what = match count {
        0 => return None,
        1 => "a process or thread was not started".to_owned(),
        _ => format!("{count} processes or threads were not started"),
    };
    Some(format!("warning: {what}: {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_where_nothing_was_refused() {
        let usage = |pids_refused| Usage { pids_refused, ..Usage::default() };
        assert_eq!(refused(None, Some(64)), None);
        assert_eq!(refused(Some(&usage(0)), Some(64)), None);
        let words = refused(Some(&usage(2)), Some(64)).unwrap();
        assert!(words.contains(" 2 processes ") && words.contains("64"), "{words}");
        let words = refused(Some(&usage(1)), Some(64)).unwrap();
        assert!(words.contains(": a process "), "{words}");
    }
}
