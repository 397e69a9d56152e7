//! Comments that silence findings: `cofferdam: allow RULE`, where the host honours them.
//!
//! One at the end of a line is about that line; one on a line of its own is about the next. Whoever writes the code
//! writes these too, so they count only where the host's owner has said so.

use std::collections::BTreeMap;

use cofferdam_core::policy::matches_glob;

const WORDS: &str = "cofferdam: allow ";

#[derive(Debug, Default)]
pub(super) struct Suppressions {
    by_line: BTreeMap<usize, Vec<String>>,
}

impl Suppressions {
    pub(super) fn of(text: &str) -> Self {
        let mut by_line: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let Some((before, rules)) = line.split_once(WORDS) else { continue };
            let code = before.trim_end();
            let Some(code) = code.strip_suffix('#').or_else(|| code.strip_suffix("//")) else {
                continue;
            };
            let names = rules.split_whitespace().next().unwrap_or_default();
            let names = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
            let line = if code.trim().is_empty() { at + 2 } else { at + 1 };
            by_line.entry(line).or_default().extend(names);
        }
        Self { by_line }
    }

    pub(super) fn silence(&self, line: usize, rule: &str) -> bool {
        self.by_line
            .get(&line)
            .is_some_and(|names| names.iter().any(|name| matches_glob(name, rule)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_about_its_line_or_the_next() {
        let text = "eval(x)  # cofferdam: allow python/dynamic-code because it is ours\n\
                    // cofferdam: allow script/*,python/a\n\
                    eval(y)\n\
                    s = 'cofferdam: allow python/b'\n";
        let suppressions = Suppressions::of(text);
        assert!(
            suppressions.silence(1, "python/dynamic-code")
                && !suppressions.silence(1, "python/process")
        );
        assert!(suppressions.silence(3, "script/process") && suppressions.silence(3, "python/a"));
        assert!(!suppressions.silence(2, "python/a") && !suppressions.silence(4, "python/b"));
    }
}
