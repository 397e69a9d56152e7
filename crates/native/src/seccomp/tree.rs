//! From a table to a balanced search tree over ranges of call numbers.

use super::program::{Arch, Assembler, Compare, Place, Program, Word};
use super::rule::{Answer, Verdict};
use super::table::Table;

/// The filter for a table.
///
/// A call made in another convention than `arch` (`int 0x80` in a 64-bit program) has other numbers,
/// and no compiler we serve makes one: it kills. The x32 convention of x86-64 shares the arch and adds
/// a high bit to the number, which puts it past the last range, where nothing exists.
pub fn compile(table: &Table, arch: Arch) -> Program {
    let ranges = ranges(table);
    let mut assembler = Assembler::default();
    // Backwards: the leaves come last in the program, then the tree above them, then the way in.
    let leaves = leaves(&mut assembler, &ranges);
    let kill = assembler.answer(Answer::Kill);
    let root = search(&mut assembler, &leaves);
    let known = assembler.load(Word::Number, root);
    let start = assembler.branch(Compare::Equal, arch.audit(), known, kill);
    assembler.load(Word::Arch, start);
    assembler.finish()
}

/// Numbers from `first` up to the next range, all with the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u32,
    verdict: Verdict,
}

/// All numbers there can be. Never empty: the last range has no end.
fn ranges(table: &Table) -> Vec<Range> {
    // By number, and the first number past them, from which on all are unknown.
    let mut verdicts = vec![Table::UNKNOWN];
    for group in table.groups() {
        for call in group.calls {
            let number = call.number() as usize;
            if number + 1 >= verdicts.len() {
                verdicts.resize(number + 2, Table::UNKNOWN);
            }
            verdicts[number] = group.verdict;
        }
    }
    let mut ranges: Vec<Range> = Vec::new();
    for (first, verdict) in (0_u32..).zip(verdicts) {
        if ranges.last().is_none_or(|range| range.verdict != verdict) {
            ranges.push(Range { first, verdict });
        }
    }
    ranges
}

/// A range and where it leads.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    first: u32,
    place: Place,
}

/// Where each range leads. Ranges with the same verdict share their instructions.
fn leaves(assembler: &mut Assembler, ranges: &[Range]) -> Vec<Leaf> {
    let mut places: Vec<(Verdict, Place)> = Vec::new();
    let mut place_of = |verdict: Verdict| {
        if let Some((_, place)) = places.iter().find(|(known, _)| *known == verdict) {
            return *place;
        }
        let place = match verdict {
            Verdict::Always(answer) => assembler.answer(answer),
            Verdict::Depends(rule) => assembler.rule(rule),
        };
        places.push((verdict, place));
        place
    };
    ranges.iter().map(|range| Leaf { first: range.first, place: place_of(range.verdict) }).collect()
}

fn search(assembler: &mut Assembler, leaves: &[Leaf]) -> Place {
    match leaves {
        // No range, no call.
        [] => assembler.answer(Answer::Kill),
        [only] => only.place,
        _ => {
            let (low, high) = leaves.split_at(leaves.len() / 2);
            let above = search(assembler, high);
            let below = search(assembler, low);
            assembler.branch(Compare::AtLeast, high[0].first, above, below)
        }
    }
}
