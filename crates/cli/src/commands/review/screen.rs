//! The terminal: keys in, pages out, and everything as it was before when it ends, however it ends.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use cofferdam_core::inert::Inert;
use cofferdam_sandbox::terminal::{Line, listen};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::deeds::{Deeds, Done};
use super::draw::draw;
use super::model::{Effect, Key, Model};
use super::order::Deed;
use super::source::Source;
use crate::failure::Failure;

/// How soon a signal is noticed while no key is pressed.
const LOOK_UP: Duration = Duration::from_millis(200);

/// Long enough for keys that are there. Without any time the reader of keys does not look at all.
const A_MOMENT: Duration = Duration::from_millis(1);

/// Shows the review until it is left. The lines say what was done.
pub(super) fn show(
    model: &mut Model,
    source: &mut Source<'_>,
    deeds: &Deeds<'_>,
) -> Result<Vec<String>, Failure> {
    let signals = Signals::take()?;
    // Restores the terminal after a panic, too.
    let mut terminal = ratatui::try_init().context("cannot take the terminal over")?;
    let shown = go(model, source, deeds, &mut terminal, &signals);
    let restored = ratatui::try_restore();
    if listen(io::stdin().as_fd(), Duration::ZERO)? == Line::Gone {
        // It needs nothing put back. Dropped, it would say on standard error that its cursor stays hidden, and panic
        // where that is gone with it.
        std::mem::forget(terminal);
        return shown;
    }
    restored.context("cannot give the terminal back")?;
    shown
}

fn go(
    model: &mut Model,
    source: &mut Source<'_>,
    deeds: &Deeds<'_>,
    terminal: &mut DefaultTerminal,
    signals: &Signals,
) -> Result<Vec<String>, Failure> {
    let mut done = Vec::new();
    loop {
        if let Some(at) = model.wants_diff() {
            model.give_diff(at, source.diff(at)?);
        }
        terminal.draw(|frame| draw(model, frame))?;
        let Some(key) = next_key(signals)? else { return Ok(done) };
        match model.press(key) {
            Effect::Nothing => {}
            Effect::Quit => return Ok(done),
            Effect::Do(deed) => {
                act(model, source, deeds, deed, &mut done)?;
                if model.files.is_empty() {
                    return Ok(done);
                }
            }
        }
    }
}

/// Does what was asked for, and shows how it went and what is left.
fn act(
    model: &mut Model,
    source: &mut Source<'_>,
    deeds: &Deeds<'_>,
    deed: Deed,
    done: &mut Vec<String>,
) -> Result<(), Failure> {
    match deeds.carry_out(&deed) {
        Ok(Done::Made(words)) => {
            done.push(words.clone());
            model.replace(source.load()?);
            model.tell(vec![words]);
        }
        Ok(Done::OverBudget(words)) => match deed {
            Deed::Apply(order) => model.ask_about_budget(words, order),
            Deed::Discard(_) | Deed::Undo => model.tell(words),
        },
        Ok(Done::Refused(words)) => model.tell(words),
        Err(failure) => {
            let words = failure.error.chain().map(ToString::to_string).collect::<Vec<_>>();
            let mut lines = vec![format!("Nothing was done: {}", Inert::line(&words.join(": ")))];
            lines.extend(failure.hints.iter().map(|hint| Inert::line(hint).to_string()));
            // Whatever came in between is to be seen before the next try.
            if let Ok(loaded) = source.load()
                && !loaded.files.is_empty()
            {
                model.replace(loaded);
            }
            model.tell(lines);
        }
    }
    Ok(())
}

/// The next key that means something; nothing where a signal asks us to end, or nobody is there to press one.
fn next_key(signals: &Signals) -> Result<Option<Key>, Failure> {
    let stdin = io::stdin();
    // Keys that were read together are handed out first, one by one.
    let mut patience = Duration::ZERO;
    loop {
        if signals.came() || listen(stdin.as_fd(), patience)? == Line::Gone {
            return Ok(None);
        }
        match event_at_hand() {
            Ok(Some(Event::Key(event))) if event.kind != KeyEventKind::Release => {
                if let Some(key) = key(event) {
                    return Ok(Some(key));
                }
            }
            // Drawing anew is all that it takes.
            Ok(Some(Event::Resize(..))) => return Ok(Some(Key::Resized)),
            Ok(Some(_)) => {}
            Ok(None) => patience = LOOK_UP,
            // It may have gone since it was looked at.
            Err(_) if listen(stdin.as_fd(), Duration::ZERO)? == Line::Gone => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

fn event_at_hand() -> io::Result<Option<Event>> {
    if event::poll(A_MOMENT)? { event::read().map(Some) } else { Ok(None) }
}

fn key(event: KeyEvent) -> Option<Key> {
    let held = |modifier| event.modifiers.contains(modifier);
    Some(match event.code {
        KeyCode::Char('c') if held(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char('f') if held(KeyModifiers::CONTROL) => Key::PageDown,
        KeyCode::Char('b') if held(KeyModifiers::CONTROL) => Key::PageUp,
        KeyCode::Char(_) if held(KeyModifiers::CONTROL) || held(KeyModifiers::ALT) => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

/// Signals that would end us in the middle of a page.
struct Signals {
    came: Arc<AtomicBool>,
    ids: Vec<SigId>,
}

impl Signals {
    fn take() -> Result<Self, Failure> {
        let came = Arc::new(AtomicBool::new(false));
        let mut ids = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            ids.push(signal_hook::flag::register(signal, Arc::clone(&came))?);
        }
        Ok(Self { came, ids })
    }

    fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
