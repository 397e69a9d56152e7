//! The launcher's own side: answers questions, and in between sees to it that sandboxes are ready.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use cofferdam_native::channel::Channel;
use cofferdam_native::confined::{ConfineError, Handed, Preparation, Waiting, begin, prepare};
use cofferdam_native::process::StartError;
use cofferdam_native::stock::Stock;
use cofferdam_native::witness::Witness;

use super::LauncherError;
use super::place::{Place, Pool};
use super::shelf::{Asked, Depth, Ready, Shelf};
use super::wire::{self, Answer, Next, Request};
use crate::backend::local::told;
use crate::state::{StateDir, StateError};

/// Profiles for which sandboxes are kept ready: the last ones that were asked for.
const PROFILES: usize = 2;
/// So long nobody must have asked for anything before more are made: the command that was just started
/// is to have the processors for itself. Where none is left, they are made at once.
const QUIET: Duration = Duration::from_millis(8);
/// Made at once, so that one is set up by the kernel while another waits for it.
const AT_ONCE: usize = 2;

/// Answers until the far end of `channel` closes, then takes down everything that it made. The calling
/// process must have one thread.
pub fn serve(state: &StateDir, channel: &Channel, depth: Depth) -> Result<(), LauncherError> {
    let mut serving = Serving {
        pool: Pool::open(state)?,
        depth,
        shelves: Vec::new(),
        trash: Vec::new(),
        running: HashMap::new(),
        stock: Stock::default(),
    };
    let answered = serving.answer_all(channel);
    let ended = serving.end();
    answered.and(ended)
}

struct Serving {
    pool: Pool,
    depth: Depth,
    /// The one that was asked for last comes first.
    shelves: Vec<Shelf>,
    /// Prepared for what is no more; taken down when there is time.
    trash: Vec<Ready>,
    running: HashMap<String, Lent>,
    /// What the sandboxes have in common.
    stock: Stock,
}

/// A sandbox that somebody else has.
struct Lent {
    handed: Handed,
    /// Names its groups.
    place: Place,
    asked: Rc<Asked>,
}

impl Serving {
    fn answer_all(&mut self, channel: &Channel) -> Result<(), LauncherError> {
        let broken = |source| LauncherError::Channel { source };
        loop {
            let wait = if self.is_out_of_stock() { Duration::ZERO } else { QUIET };
            let wait = self.has_work().then_some(wait);
            if !channel.is_ready(wait).map_err(broken)? {
                self.work()?;
                continue;
            }
            let Some(message) = channel.receive().map_err(broken)? else { return Ok(()) };
            let garbled = |source| LauncherError::Garbled { source };
            let (request, below) = wire::read(&message.bytes).map_err(garbled)?;
            let (answer, handed) = match request {
                Request::Take { run, dir } => {
                    let profile = self.profile(below).map_err(garbled)?;
                    self.take(&profile, run, &dir)
                }
                Request::Finish { name, wants_next } => self.finished(&name, wants_next),
            };
            match handed {
                Some((waiting, notes)) => {
                    channel.send(&wire::with_below(&answer, &notes), &waiting.parts())
                }
                None => channel.send(&wire::bytes(&answer), &[]),
            }
            .map_err(broken)?;
        }
    }

    /// The profile that these bytes are. One that is on a shelf is known by them.
    fn profile(&self, bytes: &[u8]) -> serde_json::Result<Rc<Asked>> {
        match self.shelves.iter().find(|shelf| shelf.asked.bytes == bytes) {
            Some(shelf) => Ok(shelf.asked.clone()),
            None => {
                let profile = serde_json::from_slice(bytes)?;
                Ok(Rc::new(Asked { bytes: bytes.to_vec(), profile }))
            }
        }
    }

    fn take(
        &mut self,
        asked: &Rc<Asked>,
        run: String,
        dir: &Path,
    ) -> (Answer, Option<(Waiting, Vec<u8>)>) {
        match self.provide(asked, run, dir) {
            Ok((name, waiting, notes)) => (Answer::Handed { name }, Some((waiting, notes))),
            Err(StartError::Confine(ConfineError::Violated { violation })) => {
                (Answer::Violated { violation }, None)
            }
            Err(error) => {
                let (message, remedy) = told(&error);
                (Answer::Refused { message, remedy: remedy.unwrap_or_default() }, None)
            }
        }
    }

    /// A prepared sandbox where there is a good one, else a new one, named after the run.
    fn provide(
        &mut self,
        asked: &Rc<Asked>,
        run: String,
        dir: &Path,
    ) -> Result<(String, Waiting, Vec<u8>), StartError> {
        let profile = &asked.profile;
        // A prepared sandbox has an upper directory of its own, and an empty one.
        let witness = Witness::of(profile).filter(|_| profile.plan().from.is_none());
        let ready = witness.and_then(|witness| self.ready(asked, &witness, dir));
        let (place, prepared, notes) = match ready {
            Some(Ready { prepared, notes, place, .. }) => (place, prepared, notes),
            None => {
                let place = self.pool.place_of(run).map_err(unplaced)?;
                let asked = Preparation {
                    profile,
                    name: &place.name,
                    state: dir,
                    stock: Some(&self.stock),
                };
                match prepare(&asked) {
                    Ok(prepared) => {
                        let notes = wire::bytes(prepared.notes());
                        (place, prepared, notes)
                    }
                    Err(error) => {
                        // Where it would not go, it is swept when we are gone.
                        place.remove();
                        return Err(error);
                    }
                }
            }
        };
        let (waiting, handed) = prepared.hand_over()?;
        let name = place.name.clone();
        self.running.insert(name.clone(), Lent { handed, place, asked: asked.clone() });
        Ok((name, waiting, notes))
    }

    /// Takes a sandbox down, and hands out the next of its profile where that is wanted.
    fn finished(&mut self, name: &str, wants_next: bool) -> (Answer, Option<(Waiting, Vec<u8>)>) {
        let asked = self.running.get(name).map(|lent| lent.asked.clone());
        let left = self.finish(name);
        let ahead = asked.filter(|_| wants_next).and_then(|asked| self.ahead(&asked));
        let (next, handed) =
            ahead.map_or((None, None), |(next, with)| (Some(Box::new(next)), Some(with)));
        (Answer::Finished { left, next }, handed)
    }

    /// A prepared sandbox for whoever will ask for this profile next.
    fn ahead(&mut self, asked: &Rc<Asked>) -> Option<(Next, (Waiting, Vec<u8>))> {
        let at = self.shelves.iter().position(|shelf| shelf.asked.profile == asked.profile)?;
        let ready = self.shelves[at].ready.pop_front()?;
        self.shelves[..=at].rotate_right(1);
        let Ready { prepared, notes, place, witness } = ready;
        let (waiting, handed) = prepared.hand_over().ok()?;
        let next = Next { name: place.name.clone(), dir: place.dir.clone().into(), witness };
        self.running.insert(place.name.clone(), Lent { handed, place, asked: asked.clone() });
        Some((next, (waiting, notes)))
    }

    /// Remembers the profile, and looks whether there is a sandbox of it.
    fn ready(&mut self, asked: &Rc<Asked>, witness: &Witness, dir: &Path) -> Option<Ready> {
        if self.depth.get() == 0 {
            return None;
        }
        let at = self.shelves.iter().position(|shelf| shelf.asked.profile == asked.profile);
        let mut shelf = at.map_or_else(|| Shelf::new(asked.clone()), |at| self.shelves.remove(at));
        shelf.is_filled = true;
        let ready = shelf.take(witness, dir, &mut self.trash);
        self.shelves.insert(0, shelf);
        for old in self.shelves.drain(self.shelves.len().min(PROFILES)..) {
            self.trash.extend(old.ready);
        }
        ready
    }

    fn finish(&mut self, name: &str) -> Vec<String> {
        let Some(Lent { handed, place, .. }) = self.running.remove(name) else {
            return vec![format!("sandbox {name}: the launcher does not know it")];
        };
        let mut left = handed.finish();
        // Its place names its groups: it stays while they do.
        if left.is_empty() {
            left.extend(place.remove());
        }
        left
    }

    fn wants_more(&self, shelf: &Shelf) -> bool {
        shelf.is_filled && shelf.ready.len() < self.depth.get()
    }

    /// Whether the next one to ask for what was asked for last would have to wait.
    fn is_out_of_stock(&self) -> bool {
        self.shelves.first().is_some_and(|shelf| shelf.ready.is_empty() && self.wants_more(shelf))
    }

    fn has_work(&self) -> bool {
        !self.trash.is_empty()
            || self.shelves.iter().any(|shelf| self.wants_more(shelf))
            || (self.is_asked() && self.stock.has_gaps())
    }

    /// Whether anybody has asked for a sandbox yet.
    fn is_asked(&self) -> bool {
        !self.shelves.is_empty()
    }

    /// A piece of what is to be done while nobody asks.
    fn work(&mut self) -> Result<(), LauncherError> {
        if let Some(ready) = self.trash.pop() {
            // What would not go stays in the pool's directory, and is swept when we are gone.
            ready.discard();
            return Ok(());
        }
        let at = (0..self.shelves.len()).find(|at| self.wants_more(&self.shelves[*at]));
        match at {
            Some(at) => self.fill(at),
            None => {
                self.stock.make_ready();
                Ok(())
            }
        }
    }

    /// Makes some more for one shelf. Why one cannot be made is said to whoever asks for it next.
    fn fill(&mut self, at: usize) -> Result<(), LauncherError> {
        let shelf = &mut self.shelves[at];
        let mut begun = Vec::new();
        for _ in 0..AT_ONCE.min(self.depth.get() - shelf.ready.len()) {
            // Before the making: what changes meanwhile is then seen as a change.
            let profile = &shelf.asked.profile;
            let Some(witness) = Witness::of(profile) else {
                shelf.is_filled = false;
                break;
            };
            let place = self.pool.place()?;
            let asked = Preparation {
                profile,
                name: &place.name,
                state: &place.dir,
                stock: Some(&self.stock),
            };
            begun.push((begin(&asked), place, witness));
        }
        for (begun, place, witness) in begun {
            match begun.and_then(|begun| begun.finish()) {
                Ok(prepared) => {
                    let notes = wire::bytes(prepared.notes());
                    shelf.ready.push_back(Ready { prepared, notes, place, witness });
                }
                Err(_) => {
                    shelf.is_filled = false;
                    place.remove();
                }
            }
        }
        Ok(())
    }

    /// Nobody is left to serve: everything goes.
    fn end(mut self) -> Result<(), LauncherError> {
        let ready =
            self.shelves.drain(..).flat_map(|shelf| shelf.ready).chain(self.trash.drain(..));
        let mut left: Vec<String> = ready.flat_map(Ready::discard).collect();
        for name in self.running.keys().cloned().collect::<Vec<_>>() {
            left.extend(self.finish(&name));
        }
        // What names groups that would not go is kept for the next clean-up.
        if left.is_empty() {
            self.pool.remove()?;
        }
        Ok(())
    }
}

/// Nothing is made that has no place: after a crash nobody would find it.
fn unplaced(error: StateError) -> StartError {
    let remedy = "see that the state directory can be written to".to_owned();
    ConfineError::Reported { message: error.to_string(), remedy }.into()
}
