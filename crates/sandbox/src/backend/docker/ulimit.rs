//! Limits of a container's single processes.

use std::fs;

use super::create::Ulimit;
use crate::engine::Flavor;

/// What is asked for. A core dump would be a file of memory where nobody looks for one. Podman would raise the
/// others to what root could have, and fail where root may not; so it is told what we have ourselves.
pub(super) fn ulimits(flavor: Flavor) -> Vec<Ulimit> {
    let core = Ulimit { name: "core".to_owned(), soft: 0, hard: 0 };
    let own = match flavor {
        Flavor::Docker => Vec::new(),
        Flavor::Podman => of(&fs::read_to_string("/proc/self/limits").unwrap_or_default()),
    };
    std::iter::once(core).chain(own).collect()
}

/// Podman's service gives itself no more processes than this, and so can give none away.
const MOST: u64 = 32_768;

fn of(limits: &str) -> Vec<Ulimit> {
    let find = |title: &str, name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(title))?;
        let hard = line.split_whitespace().nth(1)?.parse().ok().map(|hard: u64| hard.min(MOST))?;
        Some(Ulimit { name: name.to_owned(), soft: hard, hard })
    };
    [find("Max open files", "nofile"), find("Max processes", "nproc")]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_limits_are_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max processes             100                  200                  processes \n\
                    Max open files            1024                 524288               files     \n";
        let found = of(text);
        assert_eq!((found[0].name.as_str(), found[0].hard), ("nofile", MOST));
        assert_eq!((found[1].name.as_str(), found[1].soft), ("nproc", 200));
        assert!(of("Max open files  unlimited  unlimited").is_empty());
        assert_eq!(ulimits(Flavor::Docker).len(), 1);
    }
}
