//! Interleaved rounds: every case once a round, in random order, until there were enough or the time is up.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::case::Case;
use crate::dice::Dice;
use crate::progress::Progress;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rounds {
    pub(crate) warm_up: usize,
    pub(crate) counted: usize,
    /// Then they end, with however many there were, but not with fewer than [`FEWEST`].
    pub(crate) within: Duration,
}

/// Of fewer rounds a median says nothing.
pub(crate) const FEWEST: usize = 3;

/// The times of one case, in the order of the rounds.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) name: String,
    pub(crate) times: Vec<Duration>,
    /// Starts in each of them.
    pub(crate) starts: usize,
    /// Why there are none.
    pub(crate) skipped: Option<String>,
}

pub(crate) fn measure(bench: &str, cases: &mut [Case], rounds: Rounds) -> Result<Vec<Times>> {
    let empty = |case: &Case| {
        let (name, skipped) = (case.name.clone(), case.skipped.clone());
        Times { name, times: Vec::new(), starts: case.starts, skipped }
    };
    let mut all: Vec<Times> = cases.iter().map(empty).collect();
    let mut order: Vec<usize> =
        (0..cases.len()).filter(|at| cases[*at].skipped.is_none()).collect();
    let mut dice = Dice::new();
    let progress = Progress::new(format!("{bench}: rounds"), rounds.warm_up + rounds.counted);
    let begun = Instant::now();
    // One time to warm up in and four to count in.
    let spent = |share: u32| begun.elapsed() > rounds.within / 5 * share;
    let (mut warm, mut counted) = (0, 0);
    while counted < rounds.counted && !(counted >= FEWEST && spent(5)) {
        let counts = warm >= rounds.warm_up || (warm > 0 && spent(1));
        *(if counts { &mut counted } else { &mut warm }) += 1;
        progress.at(warm + counted);
        dice.shuffle(&mut order);
        for &at in &order {
            cases[at].ready()?;
            std::thread::sleep(cases[at].pause);
            let start = Instant::now();
            cases[at].act()?;
            let took = start.elapsed();
            if counts {
                all[at].times.push(took);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    const ROUNDS: Rounds = Rounds { warm_up: 2, counted: 50, within: Duration::MAX };

    #[test]
    fn when_the_time_is_up_there_are_fewer_rounds_and_never_too_few() {
        let mut cases = [Case::new("a", || Ok(()))];
        let long = Rounds { warm_up: 1000, counted: 1000, within: Duration::ZERO };
        let times = measure("x", &mut cases, long).unwrap();
        assert_eq!(times[0].times.len(), FEWEST);
        // Nobody asked for more.
        let times = measure("x", &mut cases, Rounds { counted: 1, ..long }).unwrap();
        assert_eq!(times[0].times.len(), 1);
    }

    #[test]
    fn every_case_runs_once_a_round_and_warm_up_does_not_count() {
        let log = Rc::new(RefCell::new(Vec::new()));
        let case = |name: &'static str| {
            let log = Rc::clone(&log);
            Case::new(name, move || {
                log.borrow_mut().push(name);
                Ok(())
            })
        };
        let mut cases = [case("a"), case("b"), case("c")];
        let times = measure("x", &mut cases, ROUNDS).unwrap();
        assert!(times.iter().all(|case| case.times.len() == 50));
        let log = log.borrow();
        let mut orders: Vec<_> = log.chunks(3).map(<[_]>::to_vec).collect();
        assert_eq!(orders.len(), 52);
        orders.sort();
        orders.dedup();
        assert!(orders.len() > 1, "the order never changed");
        for mut round in orders {
            round.sort_unstable();
            assert_eq!(round, ["a", "b", "c"]);
        }
    }

    #[test]
    fn a_skipped_case_keeps_its_place_and_its_reason() {
        let mut cases = [Case::new("a", || Ok(())), Case::skipped("b", "no engine".into())];
        let times = measure("x", &mut cases, Rounds { counted: 3, ..ROUNDS }).unwrap();
        assert_eq!((times[0].times.len(), times[1].times.len()), (3, 0));
        assert_eq!(times[1].skipped.as_deref(), Some("no engine"));
    }

    #[test]
    fn a_failing_case_ends_the_measurement() {
        let mut cases = [Case::new("a", || anyhow::bail!("no"))];
        assert!(measure("x", &mut cases, ROUNDS).is_err());
    }
}
