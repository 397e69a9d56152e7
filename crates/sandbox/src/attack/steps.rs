//! Attacks in steps: what a program leaves behind, and what is then done with it.

use std::fs;

use cofferdam_core::attack::Step;
use serde_json::Value;

use super::act::Done;
use super::place::{Ground, Place};
use super::{AttackError, Came, Footing, marks};

pub(super) fn take(ground: &Ground, footing: Footing, steps: &[Step]) -> Result<Came, AttackError> {
    let place = Place::make(ground, footing)?;
    let mut walk = Walk::begin(&place)?;
    let mut came = walk.all(steps)?;
    if came == Came::ToNothing
        && let Some(harm) = place.harm()?
    {
        came = Came::ToSomething(harm);
    }
    place.leave()?;
    Ok(came)
}

/// A file that is executed later: named with its class, held, and not on the host.
pub(super) fn plant(
    ground: &Ground,
    footing: Footing,
    path: &str,
    class: &str,
) -> Result<Came, AttackError> {
    let place = Place::make(ground, footing)?;
    let mut walk = Walk::begin(&place)?;
    let came = walk.plant(path, class)?;
    place.leave()?;
    Ok(came)
}

struct Walk<'p> {
    place: &'p Place<'p>,
    /// The workspace as whoever owns the host left it.
    tree: String,
    last: Done,
}

impl<'p> Walk<'p> {
    fn begin(place: &'p Place<'p>) -> Result<Self, AttackError> {
        let tree = marks::fingerprint(&place.workspace(), &[])?;
        Ok(Self { place, tree, last: Done { code: Some(0), said: String::new() } })
    }

    fn all(&mut self, steps: &[Step]) -> Result<Came, AttackError> {
        for step in steps {
            let came = self.one(step)?;
            if came != Came::ToNothing {
                return Ok(came);
            }
        }
        Ok(Came::ToNothing)
    }

    fn one(&mut self, step: &Step) -> Result<Came, AttackError> {
        let place = self.place;
        Ok(match *step {
            Step::File(name, content) => {
                let path = place.workspace().join(name);
                let dir = path.parent().map_or_else(|| place.workspace(), Into::into);
                fs::create_dir_all(&dir).map_err(AttackError::place(&dir))?;
                fs::write(&path, content).map_err(AttackError::place(&path))?;
                self.look_around()?
            }
            Step::Settings(text) => {
                place.settle(text)?;
                Came::ToNothing
            }
            Step::Host(script) => {
                self.last = place.on_the_host(script)?;
                self.look_around()?;
                self.prepared(script)
            }
            Step::Stage(script) => self.stage(script)?,
            Step::Run(flags, script, codes) => {
                self.last = place.run(flags, script)?;
                self.ended(codes, &format!("run {}", flags.join(" ")))
            }
            Step::Ours(args, codes) => {
                self.last = place.command(args)?;
                self.ended(codes, &args.join(" "))
            }
            Step::Says(words) => {
                let said = self.last.said.contains(words);
                unless(said, || format!("{words:?} is not said: {}", self.last.told()))
            }
            Step::SaysNot(words) => {
                let said = self.last.said.contains(words);
                unless(!said, || format!("{words:?} is said"))
            }
            Step::Sees(script) => {
                let seen = place.on_the_host(script)?;
                unless(seen.code == Some(0), || format!("the host does not see: {script}"))
            }
            Step::Unchanged => self.unchanged()?,
            Step::Class(wanted) => {
                let class = marks::class(&place.state())?;
                unless(class == wanted, || format!("the run is recorded as {class}"))
            }
            Step::Event(kind) => {
                let told = marks::event(&place.state(), kind)?;
                unless(told, || format!("no event {kind} is in the log"))
            }
            Step::Twin(steps) => match self.all(steps)? {
                Came::ToSomething(why) => {
                    Came::NotToBe(format!("its harmless twin fails on this host, too: {why}"))
                }
                other => other,
            },
        })
    }

    fn stage(&mut self, script: &str) -> Result<Came, AttackError> {
        // Only what it makes counts; that some of it fails is part of the attack.
        let script = format!("umask 022; ( {script} ) 2>/dev/null; exit 0");
        self.last = self.place.run(&[], &script)?;
        Ok(match self.prepared("a staged run") {
            Came::ToNothing => self.unchanged()?,
            other => other,
        })
    }

    fn look_around(&mut self) -> Result<Came, AttackError> {
        self.tree = marks::fingerprint(&self.place.workspace(), &[])?;
        Ok(Came::ToNothing)
    }

    fn unchanged(&self) -> Result<Came, AttackError> {
        let now = marks::fingerprint(&self.place.workspace(), &[])?;
        Ok(unless(now == self.tree, || "the host's workspace was changed".to_owned()))
    }

    fn prepared(&self, what: &str) -> Came {
        match self.last.code {
            Some(0) => Came::ToNothing,
            _ => Came::NotToBe(format!("it cannot be prepared here: {what}: {}", self.last.told())),
        }
    }

    fn ended(&self, codes: &[i32], what: &str) -> Came {
        let good = self.last.code.is_some_and(|code| codes.contains(&code));
        unless(good, || format!("{what}: {} instead of {codes:?}", self.last.told()))
    }

    fn plant(&mut self, path: &str, class: &str) -> Result<Came, AttackError> {
        let dir = path.rsplit_once('/').map_or(".", |(dir, _)| dir);
        let staged = format!("mkdir -p '{dir}'; echo '{{}}' > '{path}'; echo f > fine");
        let came = self.stage(&staged)?;
        if came != Came::ToNothing {
            return Ok(came);
        }
        if !marks::sealed(&self.place.state(), path)? {
            return Ok(Came::NotToBe("it could not be written inside".to_owned()));
        }
        self.last = self.place.command(&["gate", "--json"])?;
        let judged: Value = serde_json::from_str(&self.last.said).unwrap_or_default();
        let entries = judged["entries"].as_array();
        let entry = entries.and_then(|all| all.iter().find(|entry| entry["path"] == path));
        let classes = entry.and_then(|entry| entry["classes"].as_array());
        let named = classes.is_some_and(|classes| classes.iter().any(|named| named == class));
        let blocks = entry.and_then(|entry| entry["blocks"].as_array());
        let held = blocks.is_some_and(|blocks| !blocks.is_empty());
        if !named || !held {
            return Ok(Came::ToSomething(format!("the gate does not hold it as {class}")));
        }
        self.all(&[
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Event("changes.refused"),
            Step::Twin(&[
                Step::Ours(&["apply", "last", "fine"], &[0]),
                Step::Sees("grep -qx f fine"),
            ]),
        ])
    }
}

fn unless(good: bool, why: impl FnOnce() -> String) -> Came {
    if good { Came::ToNothing } else { Came::ToSomething(why()) }
}
