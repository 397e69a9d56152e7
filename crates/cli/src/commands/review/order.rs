//! What is to be done with what was chosen.

use cofferdam_core::changes::ChangePath;
use cofferdam_sandbox::changes::{Counted, Hunks, Mark};

use super::file::{Choice, File};

/// Something that only happens after a yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Apply(Order),
    Discard(Vec<ChangePath>),
    Undo,
}

/// What is to be applied, and what was said yes to for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Order {
    pub(super) whole: Vec<ChangePath>,
    pub(super) hunks: Vec<(ChangePath, Hunks)>,
    /// Whose classes were named in a dialog and agreed to.
    pub(super) agreed: Vec<ChangePath>,
    /// That it is more than the budgets allow was agreed to.
    pub(super) over_budget: bool,
}

/// A directory that has no line of its own: it came or went with what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Implied {
    Came(ChangePath),
    Went(ChangePath),
}

impl Order {
    /// Of the chosen ones. New directories come along with what is in them; old ones go once nothing that
    /// was in them is left out.
    pub(super) fn of(files: &[File], implied: &[Implied]) -> Self {
        let mut order = Self::default();
        for file in files {
            match &file.choice {
                Choice::Nothing => {}
                Choice::Whole => order.whole.extend(file.paths.iter().cloned()),
                Choice::Hunks(numbers) => {
                    // Those of what is on the page, and of nothing that came in its place since.
                    let of =
                        file.base.map_or(Counted::Change, |base| Counted::Rest(Mark::of(base)));
                    let hunks = Hunks { numbers: numbers.clone(), of };
                    order.hunks.push((file.path().clone(), hunks));
                }
            }
        }
        let holds = |dir: &ChangePath, path: &ChangePath| path != dir && path.is_within(dir);
        let chosen = |dir: &ChangePath| order.whole.iter().any(|path| holds(dir, path));
        let left = |dir: &ChangePath| {
            let mut unchosen = files.iter().filter(|file| file.choice != Choice::Whole);
            unchosen.any(|file| file.paths.iter().any(|path| holds(dir, path)))
        };
        let along: Vec<ChangePath> = implied
            .iter()
            .filter_map(|implied| match implied {
                Implied::Came(dir) => chosen(dir).then(|| dir.clone()),
                Implied::Went(dir) => (chosen(dir) && !left(dir)).then(|| dir.clone()),
            })
            .collect();
        order.whole.extend(along);
        order.whole.sort();
        order
    }

    /// With what was agreed to. A directory that comes along with such a file is agreed to with it: all else
    /// below it that needs a yes was asked about too.
    pub(super) fn agreed(mut self, files: Vec<ChangePath>, implied: &[Implied]) -> Self {
        for implied in implied {
            if let Implied::Came(dir) = implied
                && self.whole.contains(dir)
                && files.iter().any(|file| file.is_within(dir))
            {
                self.agreed.push(dir.clone());
            }
        }
        self.agreed.extend(files);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.hunks.is_empty()
    }

    pub(super) fn in_words(&self) -> String {
        let hunks: usize = self.hunks.iter().map(|(_, hunks)| hunks.numbers.len()).sum();
        let paths = match self.whole.len() {
            1 => "1 path".to_owned(),
            count => format!("{count} paths"),
        };
        let some = if hunks == 1 { "1 hunk".to_owned() } else { format!("{hunks} hunks") };
        match (self.whole.len(), hunks) {
            (_, 0) => paths,
            (0, _) => some,
            _ => format!("{paths} and {some}"),
        }
    }
}
