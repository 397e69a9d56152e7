//! What of the host's tree the hiding depends on.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::pattern::{Part, Pattern, stands_for};
use crate::witness::Seen;

/// Everything that `patterns` mean in `workspace`, found or not, with the way to it. `None` where that
/// takes more than a look at one directory, or leads through a symlink.
pub(crate) fn sight(workspace: &Path, patterns: &[String]) -> Option<Vec<Seen>> {
    let mut seen = Vec::new();
    for text in patterns {
        let pattern = Pattern::parse(text)?;
        match &pattern.0[..] {
            [Part::Glob(glob)] => {
                let mut names = Vec::new();
                for entry in fs::read_dir(workspace).ok()? {
                    let name = entry.ok()?.file_name();
                    if stands_for(glob, name.as_bytes()) {
                        names.push(name);
                    }
                }
                names.sort_unstable();
                for name in names {
                    seen.push(Seen::place(&workspace.join(name)).ok()?);
                }
            }
            _ => {
                let path = pattern.literal()?;
                for way in path.ancestors().filter(|way| !way.as_os_str().is_empty()) {
                    seen.push(Seen::place(&workspace.join(way)).ok()?);
                }
            }
        }
    }
    seen.iter().all(|one| !one.is_symlink()).then_some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_appears_or_is_replaced_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        let patterns = [".env".to_owned(), ".env.*".to_owned(), "a/b/key".to_owned()];
        let sight = || sight(top, &patterns);
        let mut last = sight();
        assert!(last.is_some());
        fs::write(top.join("other"), "").unwrap();
        assert_eq!(sight(), last);
        let acts: [&dyn Fn(); 5] = [
            &|| fs::write(top.join(".env"), "").unwrap(),
            &|| fs::write(top.join(".env.local"), "").unwrap(),
            &|| fs::create_dir_all(top.join("a/b")).unwrap(),
            &|| fs::write(top.join("a/b/key"), "").unwrap(),
            &|| fs::rename(top.join("a"), top.join("c")).unwrap(),
        ];
        for (at, act) in acts.iter().enumerate() {
            act();
            let now = sight();
            assert!(now.is_some() && now != last, "{at}");
            last = now;
        }
    }

    #[test]
    fn what_takes_a_walk_or_follows_a_link_is_not_told() {
        let dir = tempfile::tempdir().unwrap();
        let sight = |pattern: &str| sight(dir.path(), &[pattern.to_owned()]);
        assert!(sight("**/.env").is_none() && sight("*/x").is_none() && sight("..").is_none());
        std::os::unix::fs::symlink("x", dir.path().join(".env")).unwrap();
        assert!(sight(".env").is_none() && sight(".e*").is_none());
        assert!(sight("other").is_some());
    }
}
