//! What a process that lives on holds, over time: descriptors and memory.

use std::fs;

/// A row of figures, one for each look.
#[derive(Debug, Default, Clone)]
pub(super) struct Row(Vec<u64>);

impl Row {
    pub(super) fn push(&mut self, figure: u64) {
        self.0.push(figure);
    }

    pub(super) fn last(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// The mean of the second quarter, when everything is warm, and of the last.
    pub(super) fn ends(&self) -> (u64, u64) {
        let quarter = (self.0.len() / 4).max(1);
        let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len().max(1) as u64;
        let skipped = quarter.min(self.0.len().saturating_sub(1));
        let early = self.0.iter().skip(skipped).take(quarter).copied().collect::<Vec<_>>();
        let late = self.0.iter().rev().take(quarter).copied().collect::<Vec<_>>();
        (mean(&early), mean(&late))
    }

    /// How much more the end has than the beginning, beyond `noise`.
    pub(super) fn grown(&self, noise: u64) -> Option<(u64, u64)> {
        let (early, late) = self.ends();
        (late > early + noise).then_some((early, late))
    }
}

/// Open descriptors of a process; `None` where it is gone.
pub(super) fn descriptors(pid: u32) -> Option<u64> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64)
}

/// Resident memory of a process, in KiB.
pub(super) fn memory(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_seen_and_noise_is_not() {
        let row = |figures: &[u64]| Row(figures.to_vec());
        assert_eq!(row(&[90, 10, 11, 10, 11, 10, 11, 10]).grown(2), None);
        assert_eq!(row(&[1, 1, 10, 10, 20, 20, 30, 30]).grown(2), Some((10, 30)));
        assert_eq!(row(&[5]).grown(0), None);
    }

    #[test]
    fn our_own_figures_can_be_had() {
        let pid = std::process::id();
        assert!(descriptors(pid).unwrap() >= 3 && memory(pid).unwrap() > 100);
        assert_eq!(memory(0), None);
    }
}
