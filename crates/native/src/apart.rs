//! A process and its new child, each on processors of its own for as long as they work beside each other.
//!
//! The kernel leaves a child on its parent's, where it would start only when the parent waits; and it brings whoever is
//! woken to the processor of whoever wakes it, which is taken to be about to wait. On a virtual machine it does so even
//! where another processor is idle. Where all are busy with something else, a child that is kept to some of them waits
//! for longer than it gains: then both are left to the kernel.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::sys::SysError;
use crate::sys::clone::processor_time;

thread_local! {
    /// What the thread may use in the end, while it keeps to one processor.
    static STAYING: Cell<Option<CpuSet>> = const { Cell::new(None) };
}

#[derive(Debug)]
pub(crate) struct Apart {
    /// What both may use in the end. None where the kernel does not say, and then both stay as they are.
    all: Option<CpuSet>,
    begun: Instant,
}

impl Apart {
    /// Before the birth, so that the child knows as well.
    pub(crate) fn new() -> Self {
        let all = STAYING.get().or_else(|| sched_getaffinity(None).ok());
        Self { all, begun: Instant::now() }
    }

    /// In the parent, which stays where it is until what is returned is dropped. It may stay for an older child already.
    /// Where there is one processor, nothing changes.
    pub(crate) fn begin(&self, child: i32) -> Result<Option<Stay>, SysError> {
        let Some(all) = self.all else { return Ok(None) };
        let here = sched_getcpu();
        let (mut others, mut ours) = (all, CpuSet::new());
        others.unset(here);
        ours.set(here);
        if others.count() == 0 {
            return Ok(None);
        }
        keep_to(Pid::from_raw(child), &others)?;
        if STAYING.get().is_some() {
            return Ok(None);
        }
        keep_to(None, &ours)?;
        STAYING.set(Some(all));
        Ok(Some(Stay(())))
    }

    /// In the parent, when it has done its part: both go on like this only if the child was not kept from its work by others.
    pub(crate) fn go_on(&self, child: i32, stay: Option<Stay>) -> Result<Option<Stay>, SysError> {
        match self.all {
            Some(all) if is_crowded(self.begun.elapsed(), processor_time(child)?) => {
                keep_to(Pid::from_raw(child), &all)?;
                Ok(None)
            }
            _ => Ok(stay),
        }
    }

    /// In the child.
    pub(crate) fn end(&self) -> Result<(), SysError> {
        self.all.map_or(Ok(()), |all| keep_to(None, &all))
    }
}

/// Whether somebody who had enough to do has been given too little time to do it in.
fn is_crowded(elapsed: Duration, given: Duration) -> bool {
    given < elapsed / 2
}

/// That the calling thread keeps to one processor.
#[derive(Debug)]
#[must_use = "it may use all processors again only when this is dropped"]
pub(crate) struct Stay(());

impl Drop for Stay {
    fn drop(&mut self) {
        if let Some(all) = STAYING.take() {
            // Where it fails, because processors were taken away meanwhile, we stay where we are.
            keep_to(None, &all).ok();
        }
    }
}

fn keep_to(whom: Option<Pid>, processors: &CpuSet) -> Result<(), SysError> {
    sched_setaffinity(whom, processors).map_err(|e| SysError::new("sched_setaffinity", e))
}

#[cfg(test)]
mod tests {
    use std::process::{Child as Process, Command};

    use super::*;

    struct Sleeper(Process);

    impl Sleeper {
        fn new() -> Self {
            Self(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn pid(&self) -> i32 {
            Pid::from_child(&self.0).as_raw_nonzero().get()
        }

        fn may_use(&self) -> CpuSet {
            sched_getaffinity(Some(Pid::from_child(&self.0))).unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn ours() -> CpuSet {
        sched_getaffinity(None).unwrap()
    }

    #[test]
    fn both_keep_to_processors_of_their_own() {
        let (all, apart, child) = (ours(), Apart::new(), Sleeper::new());
        let stay = apart.begin(child.pid()).unwrap();
        if all.count() > 1 {
            assert_eq!((ours().count(), child.may_use().count()), (1, all.count() - 1));
            let shared = |at| ours().is_set(at) && child.may_use().is_set(at);
            assert!(!(0..CpuSet::MAX_CPU).any(shared));
        }
        // One that is born meanwhile is not kept where we are.
        let (apart, younger) = (Apart::new(), Sleeper::new());
        assert!(apart.begin(younger.pid()).unwrap().is_none());
        assert_eq!(younger.may_use(), child.may_use());
        drop(stay);
        assert_eq!(ours(), all);
    }

    #[test]
    fn one_that_comes_to_nothing_there_is_let_go_and_so_are_we() {
        let (all, apart, child) = (ours(), Apart::new(), Sleeper::new());
        let stay = apart.begin(child.pid()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(apart.go_on(child.pid(), stay).unwrap().is_none());
        assert_eq!((ours(), child.may_use()), (all, all));
    }

    #[test]
    fn whoever_gets_half_of_a_processor_has_enough() {
        let ms = Duration::from_micros;
        assert!(!is_crowded(ms(1000), ms(1000)) && !is_crowded(ms(1000), ms(500)));
        assert!(is_crowded(ms(1000), ms(499)) && is_crowded(ms(1000), ms(0)));
    }
}
