//! Which of two values is the stricter, and what both together allow at most.

use super::value::Value;
use crate::backend::BackendChoice;
use crate::mount::MountRequest;
use crate::paths::ExactPath;
use crate::quantity::ByteSize;

/// What counts as stricter for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The smaller amount; `off` is the largest.
    Smaller,
    /// The larger amount.
    Larger,
    /// The greater in the type's own order.
    Ordered,
    TrueIsStricter,
    FalseIsStricter,
    /// Of what is let in, the fewer.
    Fewer,
    /// Of what is kept out, the more.
    More,
    /// What stands stays as it is; anything beside it is looser.
    Kept,
    /// Backends that confine are equal; the bare host is looser than all.
    Confining,
    /// Any change is looser.
    Pinned,
    /// No value is looser than another.
    Free,
    /// Names may be added; what stands under a name stays.
    Named,
}

impl Way {
    /// The strictest combination of what stands and what is asked for.
    pub(super) fn meet(self, standing: &Value, asked: &Value) -> Value {
        let either = |take_asked: bool| if take_asked { asked.clone() } else { standing.clone() };
        match self {
            Self::Smaller => either(amount(asked) <= amount(standing)),
            Self::Larger => either(amount(asked) >= amount(standing)),
            Self::Ordered => either(match (standing, asked) {
                (Value::Mode(standing), Value::Mode(asked)) => asked >= standing,
                (Value::Network(standing), Value::Network(asked)) => asked >= standing,
                (Value::Pull(standing), Value::Pull(asked)) => asked >= standing,
                (Value::Proof(standing), Value::Proof(asked)) => asked >= standing,
                (Value::Threshold(standing), Value::Threshold(asked)) => asked >= standing,
                (Value::Profile(standing), Value::Profile(asked)) => asked >= standing,
                (Value::Verdict(standing), Value::Verdict(asked)) => asked >= standing,
                _ => false,
            }),
            Self::TrueIsStricter => either(*asked == Value::Switch(true)),
            Self::FalseIsStricter => either(*asked == Value::Switch(false)),
            Self::Fewer => fewer(standing, asked),
            Self::More => {
                let mut both = standing.clone();
                both.add(asked.clone());
                both
            }
            Self::Confining => {
                either(*asked != Value::Backend(BackendChoice::Local) || asked == standing)
            }
            Self::Kept | Self::Pinned => standing.clone(),
            Self::Free => asked.clone(),
            Self::Named => {
                let mut both = asked.clone();
                both.add(standing.clone());
                both
            }
        }
    }

    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::Smaller => "the smaller",
            Self::Larger => "the larger",
            Self::Ordered => "the one that gives less",
            Self::TrueIsStricter => "`true`",
            Self::FalseIsStricter => "`false`",
            Self::Fewer => "fewer items, and of two values of one item the lesser",
            Self::More => "more items",
            Self::Kept => "what stands; anything added is looser",
            Self::Confining => "anything but `local`",
            Self::Pinned => "what stands; any change is looser",
            Self::Named => "none; but a name of the host file's stays its own",
            Self::Free => "none; but the project file does not replace the host file's",
        }
    }

    /// Whether `asked` would allow something that `standing` does not.
    pub(super) fn loosens(self, standing: &Value, asked: &Value) -> bool {
        match (self, standing, asked) {
            (Self::Kept, Value::Env(standing), Value::Env(asked)) => {
                asked.iter().any(|(name, value)| standing.get(name) != Some(value))
            }
            (Self::Named, Value::Steps(standing), Value::Steps(asked)) => {
                standing.iter().any(|(name, step)| asked.get(name).is_some_and(|a| a != step))
            }
            // Order is no matter in a set.
            (Self::Fewer | Self::More, ..) => {
                let met = self.meet(standing, asked);
                !(covers(&met, asked) && covers(asked, &met))
            }
            _ => self.meet(standing, asked) != *asked,
        }
    }
}

impl Value {
    /// Adds the items of `more` to this list. What is there already is not added twice; a later value of a
    /// name, or a later mount on a target, replaces the earlier.
    pub(super) fn add(&mut self, more: Self) {
        match (self, more) {
            (Self::Texts(all), Self::Texts(more)) => extend(all, more),
            (Self::EnvNames(all), Self::EnvNames(more)) => extend(all, more),
            (Self::Paths(all), Self::Paths(more)) => extend(all, more),
            (Self::Exceptions(all), Self::Exceptions(more)) => extend(all, more),
            (Self::Relax(all), Self::Relax(more)) => all.extend(more),
            (Self::Env(all), Self::Env(more)) => all.extend(more),
            (Self::Tmpfs(all), Self::Tmpfs(more)) => all.extend(more),
            (Self::Roles(all), Self::Roles(more)) => all.extend(more),
            (Self::Steps(all), Self::Steps(more)) => all.extend(more),
            (Self::Mounts(all), Self::Mounts(more)) => {
                for mount in more {
                    all.retain(|earlier| earlier.target != mount.target);
                    all.push(mount);
                }
            }
            (all, more) => *all = more,
        }
    }
}

fn extend<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !all.contains(&item) {
            all.push(item);
        }
    }
}

/// A number that grows with what is allowed.
fn amount(value: &Value) -> u64 {
    match value {
        Value::Size(size) => size.0,
        Value::Cpus(cpus) => cpus.millis.into(),
        Value::Count(count) => (*count).into(),
        Value::Span(span) | Value::SpanOrOff(Some(span)) => span.millis,
        _ => u64::MAX,
    }
}

/// What both let in.
fn fewer(standing: &Value, asked: &Value) -> Value {
    match (standing, asked) {
        (Value::Texts(a), Value::Texts(b)) => Value::Texts(common(a, b)),
        (Value::EnvNames(a), Value::EnvNames(b)) => Value::EnvNames(common(a, b)),
        (Value::Paths(a), Value::Paths(b)) => Value::Paths(common(a, b)),
        (Value::Exceptions(a), Value::Exceptions(b)) => Value::Exceptions(common(a, b)),
        (Value::Relax(a), Value::Relax(b)) => Value::Relax(a & b),
        (Value::Mounts(a), Value::Mounts(b)) => Value::Mounts(common_mounts(a, b)),
        (Value::Tmpfs(a), Value::Tmpfs(b)) => {
            let smaller = |(path, size): (&ExactPath, &ByteSize)| {
                Some((path.clone(), *a.get(path)?.min(size)))
            };
            Value::Tmpfs(b.iter().filter_map(smaller).collect())
        }
        _ => standing.clone(),
    }
}

fn common<T: PartialEq + Clone>(a: &[T], b: &[T]) -> Vec<T> {
    b.iter().filter(|item| a.contains(item)).cloned().collect()
}

/// Mounts of the same source on the same target, writable where both are.
fn common_mounts(a: &[MountRequest], b: &[MountRequest]) -> Vec<MountRequest> {
    let both = |asked: &MountRequest| {
        let same = a.iter().find(|m| (&m.source, &m.target) == (&asked.source, &asked.target))?;
        Some(MountRequest { access: same.access.max(asked.access), ..asked.clone() })
    };
    b.iter().filter_map(both).collect()
}

/// Whether every item of `b` is in `a`.
fn covers(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Texts(a), Value::Texts(b)) => b.iter().all(|item| a.contains(item)),
        _ => fewer(a, b) == *b,
    }
}
