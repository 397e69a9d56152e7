//! The state of a review, and what each key makes of it. Pure: no terminal, no disk.
//!
//! [`Model::press`] answers with what is to be done; whoever runs it does it and says how it went
//! ([`Model::tell`], [`Model::replace`]).

use std::collections::VecDeque;

use cofferdam_core::changes::ChangePath;

use super::dialog::Dialog;
use super::file::{Choice, Diff, DiffLine, File, Row};
use super::order::{Deed, Implied, Order};
use super::source::Loaded;

/// A key, as far as we know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Tab,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Interrupt,
    /// The screen has another size.
    Resized,
}

/// What a key asks of whoever runs the review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Quit,
    Do(Deed),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    List,
    Diff,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) title: String,
    pub(super) files: Vec<File>,
    pub(super) implied: Vec<Implied>,
    /// Changes that are beyond what is listed.
    pub(super) unlisted: u64,
    pub(super) cursor: usize,
    pub(super) pane: Pane,
    /// The row of the diff that we are at.
    pub(super) line: usize,
    /// How many cells a row of the diff has.
    pub(super) width: usize,
    pub(super) search: String,
    /// The search is still being typed.
    pub(super) typing: bool,
    pub(super) dialog: Option<Dialog>,
    /// Lines of a page, for the keys that turn one.
    pub(super) page: usize,
}

impl Model {
    pub(super) fn new(title: String, loaded: Loaded) -> Self {
        let Loaded { files, implied, unlisted } = loaded;
        let all = files.len();
        let unlisted_words = || {
            let words = [
                format!("The first {all} changes are listed, and {unlisted} more are not."),
                "To see others, name paths: `cofferdam review RUN PATH`.".to_owned(),
            ];
            Dialog::Told(words.to_vec())
        };
        Self {
            title,
            files,
            implied,
            unlisted,
            cursor: 0,
            pane: Pane::List,
            line: 0,
            width: usize::MAX,
            search: String::new(),
            typing: false,
            dialog: (unlisted > 0).then(unlisted_words),
            page: 10,
        }
    }

    pub(super) fn current(&self) -> Option<&File> {
        self.files.get(self.cursor)
    }

    /// The file whose diff is needed next.
    pub(super) fn wants_diff(&self) -> Option<usize> {
        self.current().filter(|file| file.diff.is_none()).map(|_| self.cursor)
    }

    /// Gives a file its diff. Only the one that is looked at is held.
    pub(super) fn give_diff(&mut self, at: usize, mut diff: Diff) {
        diff.cut(self.width);
        for file in &mut self.files {
            file.diff = None;
        }
        if let Some(file) = self.files.get_mut(at) {
            file.hunks = diff.hunks;
            file.diff = Some(diff);
        }
        self.line = self.line.min(self.rows().len().saturating_sub(1));
    }

    /// The screen has rows of that many cells. We stay at the line that we are at.
    pub(super) fn fit(&mut self, width: usize) {
        if self.width == width {
            return;
        }
        self.width = width;
        let at = self.rows().get(self.line).map_or(0, |row| row.line);
        if let Some(diff) = self.files.get_mut(self.cursor).and_then(|file| file.diff.as_mut()) {
            diff.cut(width);
        }
        self.line = self.rows().iter().position(|row| row.line == at).unwrap_or(0);
    }

    pub(super) fn rows(&self) -> &[Row] {
        self.current().and_then(|file| file.diff.as_ref()).map_or(&[], |diff| &diff.rows)
    }

    fn lines(&self) -> &[DiffLine] {
        self.current().and_then(|file| file.diff.as_ref()).map_or(&[], |diff| &diff.lines)
    }

    /// The hunk that we are in; 0 above the first.
    pub(super) fn hunk(&self) -> usize {
        self.rows().get(self.line).map_or(0, |row| row.hunk)
    }

    /// Something to be read.
    pub(super) fn tell(&mut self, words: Vec<String>) {
        self.dialog = Some(Dialog::Told(words));
    }

    pub(super) fn ask_about_budget(&mut self, words: Vec<String>, order: Order) {
        self.dialog = Some(Dialog::OverBudget { words, order });
    }

    /// What is pending now. What was chosen stays chosen where it is still the same.
    pub(super) fn replace(&mut self, loaded: Loaded) {
        let Loaded { mut files, implied, unlisted } = loaded;
        self.unlisted = unlisted;
        for file in &mut files {
            if let Some(old) = self.files.iter().find(|old| file.is_still(old)) {
                (file.choice, file.hunks) = (old.choice.clone(), old.hunks);
            }
        }
        self.cursor = self.cursor.min(files.len().saturating_sub(1));
        (self.files, self.implied, self.line) = (files, implied, 0);
    }

    pub(super) fn press(&mut self, key: Key) -> Effect {
        if key == Key::Resized {
            return Effect::Nothing;
        }
        match (self.dialog.take(), self.typing) {
            (Some(dialog), _) => self.answer(dialog, key),
            (None, true) => self.type_search(key),
            (None, false) => self.browse(key),
        }
    }

    fn browse(&mut self, key: Key) -> Effect {
        match key {
            Key::Char('q') | Key::Interrupt => return self.leave(),
            Key::Char('?') => self.dialog = Some(Dialog::Help),
            Key::Char('A') => self.begin_apply(),
            Key::Char('D') => self.begin_discard(),
            Key::Char('u') => self.dialog = Some(Dialog::Sure(Deed::Undo)),
            Key::Char('/') => (self.typing, self.search) = (true, String::new()),
            Key::Char('n') if !self.search.is_empty() => self.find(1),
            Key::Char('N') if !self.search.is_empty() => self.find(-1),
            Key::Escape => self.search.clear(),
            Key::Tab => self.pane = self.other_pane(),
            Key::Char('j') | Key::Down => self.go(1),
            Key::Char('k') | Key::Up => self.go(-1),
            Key::PageDown => self.go(self.page.cast_signed()),
            Key::PageUp => self.go(-self.page.cast_signed()),
            Key::Char('g') | Key::Home => self.go(isize::MIN),
            Key::Char('G') | Key::End => self.go(isize::MAX),
            Key::Char('J') => self.go_file(1),
            Key::Char('K') => self.go_file(-1),
            Key::Char('}') => self.go_hunk(1),
            Key::Char('{') => self.go_hunk(-1),
            Key::Char('s') => self.enter_hunks(),
            Key::Enter if self.pane == Pane::List => self.enter_hunks(),
            Key::Char(' ') | Key::Enter => self.toggle(),
            Key::Char('y') => self.decide(true),
            Key::Char('n') => self.decide(false),
            Key::Char('a') => self.decide_rest(true),
            Key::Char('d') => self.decide_rest(false),
            Key::Char(_) | Key::Backspace | Key::Resized => {}
        }
        Effect::Nothing
    }

    fn other_pane(&self) -> Pane {
        match self.pane {
            Pane::List => Pane::Diff,
            Pane::Diff => Pane::List,
        }
    }

    fn go(&mut self, by: isize) {
        match self.pane {
            Pane::List => self.go_file(by),
            Pane::Diff => self.line = moved(self.line, by, self.rows().len()),
        }
    }

    fn go_file(&mut self, by: isize) {
        let to = moved(self.cursor, by, self.files.len());
        if to != self.cursor {
            (self.cursor, self.line) = (to, 0);
        }
    }

    /// To the first line of the next hunk, or of the one before.
    fn go_hunk(&mut self, by: isize) {
        let wanted = self.hunk().saturating_add_signed(by).max(1);
        if let Some(line) = self.rows().iter().position(|row| row.hunk == wanted) {
            (self.line, self.pane) = (line, Pane::Diff);
        }
    }

    fn enter_hunks(&mut self) {
        self.pane = Pane::Diff;
        if self.hunk() == 0 {
            self.go_hunk(1);
        }
    }

    /// The hunk that a key is about, where it is about one and not about the file.
    fn aimed_at(&self) -> Option<usize> {
        let can = self.current().is_some_and(|file| file.hunks > 0);
        Some(self.hunk()).filter(|hunk| self.pane == Pane::Diff && can && *hunk > 0)
    }

    fn toggle(&mut self) {
        let aimed = self.aimed_at();
        let Some(file) = self.files.get(self.cursor) else { return };
        let chosen = match aimed {
            Some(hunk) => file.has(hunk),
            None => file.choice == Choice::Whole,
        };
        self.choose(aimed, !chosen);
    }

    fn choose(&mut self, hunk: Option<usize>, chosen: bool) {
        let Some(file) = self.files.get_mut(self.cursor) else { return };
        if chosen && file.is_denied() {
            let mut words = vec![format!("{} is never applied:", file.name)];
            words.extend(file.judgement.blocks.iter().cloned());
            return self.tell(words);
        }
        match hunk {
            Some(hunk) => file.set(hunk, chosen),
            None => file.set_whole(chosen),
        }
    }

    fn decide(&mut self, chosen: bool) {
        let aimed = self.aimed_at();
        self.choose(aimed, chosen);
        let last = |file: &File| aimed.is_none_or(|hunk| hunk >= file.hunks);
        if self.current().is_some_and(last) {
            self.go_file(1);
        } else {
            self.go_hunk(1);
        }
    }

    /// All from here on: the hunks of this file, or the files of the list.
    fn decide_rest(&mut self, chosen: bool) {
        match self.aimed_at() {
            Some(from) => {
                let last = self.current().map_or(0, |file| file.hunks);
                (from..=last).for_each(|hunk| self.choose(Some(hunk), chosen));
                self.go_file(1);
            }
            None => {
                for file in &mut self.files[self.cursor..] {
                    file.set_whole(chosen && !file.is_denied());
                }
            }
        }
    }

    fn type_search(&mut self, key: Key) -> Effect {
        match key {
            Key::Char(c) => self.search.push(c),
            Key::Backspace => drop(self.search.pop()),
            Key::Enter => {
                self.typing = false;
                self.find(1);
            }
            Key::Escape | Key::Interrupt => (self.typing, self.search) = (false, String::new()),
            _ => {}
        }
        Effect::Nothing
    }

    /// The next place in this pane that holds what is searched for; after the last comes the first.
    fn find(&mut self, by: isize) {
        let wanted = self.search.to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&wanted);
        let (at, found): (usize, Vec<usize>) = match self.pane {
            Pane::List => {
                let hits = self.files.iter().enumerate().filter(|(_, file)| holds(&file.name));
                (self.cursor, hits.map(|(n, _)| n).collect())
            }
            Pane::Diff => {
                // A word may stand across two rows: lines are searched, and each has one first row.
                let lines: Vec<bool> = self.lines().iter().map(|line| holds(&line.text)).collect();
                let hits = self.rows().iter().enumerate();
                let hits = hits.filter(move |(_, row)| !row.goes_on && lines[row.line]);
                (self.line, hits.map(|(n, _)| n).collect())
            }
        };
        let next = if by > 0 {
            found.iter().find(|n| **n > at).or(found.first())
        } else {
            found.iter().rev().find(|n| **n < at).or(found.last())
        };
        match (next, self.pane) {
            (None, _) => self.tell(vec![format!("{} is not found here", self.search)]),
            (Some(to), Pane::List) => (self.cursor, self.line) = (*to, 0),
            (Some(to), Pane::Diff) => self.line = *to,
        }
    }

    fn leave(&mut self) -> Effect {
        if self.files.iter().all(|file| file.choice == Choice::Nothing) {
            return Effect::Quit;
        }
        self.dialog = Some(Dialog::Leave);
        Effect::Nothing
    }

    fn begin_discard(&mut self) {
        let order = Order::of(&self.files, &self.implied);
        let by_hunk = !order.hunks.is_empty();
        if by_hunk {
            self.tell(vec!["Files are discarded whole; choose no single hunks for it.".to_owned()]);
        } else if order.is_empty() {
            self.tell(vec!["Nothing is chosen.".to_owned()]);
        } else {
            self.dialog = Some(Dialog::Sure(Deed::Discard(order.whole)));
        }
    }

    fn begin_apply(&mut self) {
        let chosen =
            |(_, file): &(usize, &File)| file.choice != Choice::Nothing && file.needs_own_yes();
        let waiting: VecDeque<usize> =
            self.files.iter().enumerate().filter(chosen).map(|(n, _)| n).collect();
        self.ask_next(waiting, Vec::new());
    }

    /// Asks about the next file that needs a yes of its own, and in the end about all.
    fn ask_next(&mut self, waiting: VecDeque<usize>, agreed: Vec<ChangePath>) {
        if !waiting.is_empty() {
            self.dialog = Some(Dialog::OwnYes { waiting, agreed });
            return;
        }
        let order = Order::of(&self.files, &self.implied).agreed(agreed, &self.implied);
        if order.is_empty() {
            self.tell(vec!["Nothing is chosen.".to_owned()]);
        } else {
            self.dialog = Some(Dialog::Sure(Deed::Apply(order)));
        }
    }

    fn answer(&mut self, dialog: Dialog, key: Key) -> Effect {
        let yes = match key {
            Key::Char('y' | 'Y') => true,
            Key::Char('n' | 'N') | Key::Escape | Key::Interrupt => false,
            // Any key closes what is only read; a question waits for its answer.
            _ if matches!(dialog, Dialog::Help | Dialog::Told(_)) => return Effect::Nothing,
            _ => {
                self.dialog = Some(dialog);
                return Effect::Nothing;
            }
        };
        match dialog {
            Dialog::OwnYes { .. } if matches!(key, Key::Escape | Key::Interrupt) => {}
            Dialog::OwnYes { mut waiting, mut agreed } => {
                if let Some(file) = waiting.pop_front().and_then(|at| self.files.get_mut(at)) {
                    if yes {
                        agreed.extend(file.paths.iter().cloned());
                    } else {
                        file.set_whole(false);
                    }
                }
                self.ask_next(waiting, agreed);
            }
            Dialog::Sure(deed) if yes => return Effect::Do(deed),
            Dialog::OverBudget { order, .. } if yes => {
                return Effect::Do(Deed::Apply(Order { over_budget: true, ..order }));
            }
            // Who interrupts twice means it.
            Dialog::Leave if yes || key == Key::Interrupt => return Effect::Quit,
            _ => {}
        }
        Effect::Nothing
    }
}

/// `from` moved, within `0..count`.
fn moved(from: usize, by: isize, count: usize) -> usize {
    from.saturating_add_signed(by).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests;
