//! A process and its new child, each on processors of its own for as long as they work beside each other.
//!
//! The kernel leaves a child on its parent's, where it would start only when the parent waits; and it brings whoever is
//! woken to the processor of whoever wakes it, which is taken to be about to wait. On a virtual machine it does so even
//! where another processor is idle.
//!
//! The child is let go as soon as it has all that its parent makes for it: where somebody else needs its processor, it
//! would otherwise wait for that one while its parent's is idle.

use std::cell::Cell;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::sys::SysError;

thread_local! {
    /// What the thread may use in the end, while it keeps to one processor.
    static STAYING: Cell<Option<CpuSet>> = const { Cell::new(None) };
}

/// Has the child keep away from the processor that the caller is on, who stays there. It may stay for an older child already.
pub(crate) fn part(child: i32) -> Result<Apart, SysError> {
    // Where the kernel does not say, both stay as they are.
    let all = STAYING.get().or_else(|| sched_getaffinity(None).ok());
    let here = sched_getcpu();
    let mut others = all.unwrap_or_default();
    others.unset(here);
    let Some(all) = all.filter(|_| others.count() > 0) else {
        return Ok(Apart { all: None, stay: None });
    };
    keep_to(Pid::from_raw(child), &others)?;
    let is_staying = STAYING.get().is_some();
    let stay = if is_staying { None } else { Some(Stay::at(here, all)?) };
    Ok(Apart { all: Some(all), stay })
}

#[derive(Debug)]
#[must_use = "the child may use all processors only when it is let go"]
pub(crate) struct Apart {
    /// What both may use in the end. None where there is one processor.
    all: Option<CpuSet>,
    stay: Option<Stay>,
}

impl Apart {
    /// Before the child starts anything, which would inherit what it is kept to. The caller stays until what is returned is dropped.
    pub(crate) fn let_go(self, child: i32) -> Result<Option<Stay>, SysError> {
        if let Some(all) = self.all {
            keep_to(Pid::from_raw(child), &all)?;
        }
        Ok(self.stay)
    }
}

/// That the calling thread keeps to one processor.
#[derive(Debug)]
#[must_use = "it may use all processors again only when this is dropped"]
pub(crate) struct Stay(());

impl Stay {
    fn at(here: usize, all: CpuSet) -> Result<Self, SysError> {
        let mut one = CpuSet::new();
        one.set(here);
        keep_to(None, &one)?;
        STAYING.set(Some(all));
        Ok(Self(()))
    }
}

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
        let (all, child) = (ours(), Sleeper::new());
        let apart = part(child.pid()).unwrap();
        if all.count() > 1 {
            assert_eq!((ours().count(), child.may_use().count()), (1, all.count() - 1));
            let shared = |at| ours().is_set(at) && child.may_use().is_set(at);
            assert!(!(0..CpuSet::MAX_CPU).any(shared));
        }
        // One that is born meanwhile is not kept where we are, and lets nobody else go.
        let younger = Sleeper::new();
        let other = part(younger.pid()).unwrap();
        assert_eq!(younger.may_use(), child.may_use());
        assert!(other.let_go(younger.pid()).unwrap().is_none());
        assert_eq!(younger.may_use(), all);

        let stay = apart.let_go(child.pid()).unwrap();
        assert_eq!(child.may_use(), all);
        assert_eq!(ours().count() == 1, all.count() == 1 || stay.is_some());
        drop(stay);
        assert_eq!(ours(), all);
    }
}
