//! Attacks by a script inside: made in the sandbox, and its twin where it must succeed.

use cofferdam_core::attack::Twin;

use super::place::{Ground, Place};
use super::{AttackError, Came, Footing, marks};

/// A system call by name.
pub(super) fn call(ground: &Ground, footing: Footing, name: &str) -> Result<Came, AttackError> {
    make(ground, footing, &format!("{{try}} call {name} && won"), Twin::Unconfined)
}

pub(super) fn make(
    ground: &Ground,
    footing: Footing,
    script: &str,
    twin: Twin,
) -> Result<Came, AttackError> {
    if footing.backend.confines() {
        let (whose, place, twin) = match twin {
            Twin::Unconfined => ("without a sandbox", Footing::OPEN, script),
            Twin::Allowed(twin) => ("in what it needs to work at all", footing, twin),
        };
        if let Shown::Nothing(why) = carry_out(ground, place, twin)? {
            return Ok(Came::NotToBe(format!("on this host it fails {whose}, too: {why}")));
        }
    }
    Ok(match carry_out(ground, footing, script)? {
        Shown::Won(how) => Came::ToSomething(how),
        Shown::Nothing(why) if why == LOST => Came::ToNothing,
        Shown::Nothing(why) => Came::NotToBe(why),
    })
}

const LOST: &str = "it came to its end and had won nothing";

/// What a script showed.
enum Shown {
    Won(String),
    Nothing(String),
}

fn carry_out(ground: &Ground, footing: Footing, script: &str) -> Result<Shown, AttackError> {
    let place = Place::make(ground, footing)?;
    let before = marks::fingerprint(&place.workspace(), &[])?;
    // In a shell of its own, so that whatever it does to itself, it came to its end.
    let whole = format!("won() {{ : > won; }}; ( {script} ) 2>/dev/null; : > tried");
    let done = place.run(&[], &whole)?;
    let mark = |name: &str| match footing.backend.confines() {
        true => marks::sealed(&place.state(), name),
        false => Ok(place.workspace().join(name).exists()),
    };
    let (won, tried) = (mark("won")?, mark("tried")?);
    let harm = place.harm()?;
    let touched =
        footing.backend.confines() && marks::fingerprint(&place.workspace(), &[])? != before;
    let shown = match harm {
        Some(harm) => Shown::Won(harm),
        None if touched => Shown::Won("the host's workspace was changed".to_owned()),
        None if won => Shown::Won("it says so, and came that far".to_owned()),
        None if tried => Shown::Nothing(LOST.to_owned()),
        None if done.code.is_none() => Shown::Won("it would not end".to_owned()),
        None => Shown::Nothing(format!("it did not come to its end: {}", done.told())),
    };
    place.leave()?;
    Ok(shown)
}
