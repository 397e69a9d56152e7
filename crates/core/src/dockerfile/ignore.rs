//! Which files of a project an engine is not sent: `.dockerignore`, as engines read it. The last pattern that
//! matches a path or a directory above it decides; `!` takes it back.

use regex::Regex;

#[derive(Debug, Clone, Default)]
pub struct Ignored {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Regex,
    is_kept: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a pattern of a .dockerignore")]
pub struct BadPattern(String);

impl Ignored {
    /// Reads the file; what is in `always` comes after it, so that nothing takes that back.
    pub fn new<T: AsRef<str>>(text: &str, always: &[T]) -> Result<Self, BadPattern> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (is_kept, pattern) = match line.strip_prefix('!') {
                Some(rest) => (true, rest.trim()),
                None => (false, line),
            };
            rules.push(Rule { pattern: compiled(pattern)?, is_kept });
        }
        for pattern in always {
            let pattern = pattern.as_ref();
            let anywhere =
                if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
            rules.push(Rule { pattern: compiled(&anywhere)?, is_kept: false });
        }
        Ok(Self { rules })
    }

    /// Whether a path from the project's root, with `/` between names, is left out.
    pub fn leaves_out(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let above: Vec<&str> = ends.map(|end| &path[..end]).collect();
        let matching = |rule: &&Rule| above.iter().any(|part| rule.pattern.is_match(part));
        self.rules.iter().rev().find(matching).is_some_and(|rule| !rule.is_kept)
    }

    /// Whether all that is in a directory can be passed over: nothing in it can be taken back.
    pub fn leaves_out_all(&self, dir: &str) -> bool {
        self.leaves_out(dir) && !self.rules.iter().any(|rule| rule.is_kept)
    }
}

fn compiled(pattern: &str) -> Result<Regex, BadPattern> {
    let clean = pattern.trim_start_matches('/').trim_start_matches("./").trim_end_matches('/');
    let mut out = String::from("^");
    let mut rest = clean;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            out.push_str("(?:.*/)?");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            out.push_str(".*");
            rest = after;
        } else {
            match c {
                '*' => out.push_str("[^/]*"),
                '?' => out.push_str("[^/]"),
                '[' | ']' | '^' | '-' => out.push(c),
                '\\' => {}
                _ => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    out.push('$');
    let bad = || BadPattern(pattern.chars().take(100).collect());
    if clean.is_empty() {
        return Err(bad());
    }
    Regex::new(&out).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let text = "# c\n*.md\n!README.md\nnode_modules\n**/target\n/dist/\nsrc/*.tmp\n!**/.env\n";
        let ignored = Ignored::new(text, &[".env", ".env.*"]).unwrap();
        for out in [
            "a.md",
            "node_modules/x/y.js",
            "target/a",
            "deep/er/target/a",
            "dist/x",
            "src/a.tmp",
            ".env",
            "deep/.env",
            "deep/.env.local",
        ] {
            assert!(ignored.leaves_out(out), "{out}");
        }
        for kept in [
            "README.md",
            "deep/a.md",
            "deep/node_modules/x",
            "src/deep/a.tmp",
            "a",
            "targets",
            "environment",
        ] {
            assert!(!ignored.leaves_out(kept), "{kept}");
        }
        assert!(!ignored.leaves_out_all("node_modules"));
        assert!(Ignored::new("a\n", &[""; 0]).unwrap().leaves_out_all("a"));
        assert!(Ignored::new("[\n", &[""; 0]).is_err());
    }
}
