//! The review on a screen: list, diff, what is chosen, and a dialog in front where there is one.

pub(super) mod fit;

use cofferdam_core::changes::Verdict;
use cofferdam_core::inert::Inert;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, List, ListItem, ListState, Paragraph};

use super::dialog::{Dialog, HELP};
use super::file::{Choice, File};
use super::model::{Model, Pane};
use super::order::Deed;
use crate::commands::diff::paint::Hue;
use fit::{folded, shortened};

/// The edge of a diff: which hunk is chosen, and where a line goes on that began above.
const EDGE: u16 = 2;

/// A screen that is at least this wide has list and diff side by side.
const WIDE: u16 = 100;

pub(super) fn draw(model: &mut Model, frame: &mut Frame<'_>) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    let [list, diff] = if body.width >= WIDE {
        Layout::horizontal([Constraint::Percentage(38), Constraint::Percentage(62)]).areas(body)
    } else {
        Layout::vertical([Constraint::Percentage(35), Constraint::Percentage(65)]).areas(body)
    };
    model.page = usize::from(diff.height.saturating_sub(3)).max(1);
    model.fit(usize::from(diff.width.saturating_sub(2 + EDGE)).max(1));
    let title = shortened(&model.title, usize::from(head.width));
    frame.render_widget(Paragraph::new(title).style(bold()), head);
    draw_list(model, frame, list);
    draw_diff(model, frame, diff);
    frame.render_widget(Paragraph::new(status(model)), foot);
    if let Some(dialog) = &model.dialog {
        draw_dialog(model, dialog, frame);
    }
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn pane(title: String, active: bool) -> Block<'static> {
    let style = if active { bold() } else { Style::new().add_modifier(Modifier::DIM) };
    Block::bordered().title(title).border_style(style)
}

fn draw_list(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let more = match model.unlisted {
        0 => String::new(),
        more => format!(" (+{more})"),
    };
    let title = format!(" Changes {}/{}{more} ", position(model), model.files.len());
    let width = usize::from(area.width.saturating_sub(2));
    let items = model.files.iter().map(|file| ListItem::new(row(file, width)));
    let list = List::new(items)
        .block(pane(title, model.pane == Pane::List))
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let at = (!model.files.is_empty()).then_some(model.cursor);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(at));
}

fn position(model: &Model) -> usize {
    if model.files.is_empty() { 0 } else { model.cursor + 1 }
}

/// What is to be known comes before the name: a name is as long as the program likes.
fn row(file: &File, width: usize) -> Line<'static> {
    let letter = match file.change {
        "created" => Span::styled("A", Color::Green),
        "deleted" => Span::styled("D", Color::Red),
        "renamed" => Span::styled("R", Color::Cyan),
        "retyped" => Span::styled("T", Color::Magenta),
        _ => Span::styled("M", Color::Yellow),
    };
    let mut spans = vec![Span::raw(format!("{} ", file.mark())), letter];
    if file.conflict.is_some() {
        spans.push(Span::styled(" conflict", Color::Red));
    }
    if file.judgement.verdict == Verdict::Deny {
        spans.push(Span::styled(" deny", Color::Red));
    }
    let classes: String =
        file.judgement.classes.iter().map(|class| format!(" {}", class.name())).collect();
    spans.push(Span::styled(shortened(&classes, width / 2), Color::Yellow));
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(format!(" {}", shortened(&file.name, width.saturating_sub(used + 1)))));
    Line::from(spans)
}

fn draw_diff(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let name = model.current().map_or("", |file| file.name.as_str());
    let name = shortened(name, usize::from(area.width.saturating_sub(4)));
    let block = pane(format!(" {name} "), model.pane == Pane::Diff);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let height = usize::from(inner.height).max(1);
    let rows = model.rows();
    // The line that we are at stays in the upper third, so that what follows is seen.
    let top = model.line.saturating_sub(height / 3).min(rows.len().saturating_sub(height));
    let here = model.hunk();
    let shown = rows.iter().enumerate().skip(top).take(height).map(|(number, row)| {
        let file = model.current();
        let selectable = file.is_some_and(|file| file.hunks > 0) && row.hunk > 0;
        let chosen = file.is_some_and(|file| file.has(row.hunk));
        let mark = match (selectable, chosen) {
            (false, _) => " ",
            (true, true) => "┃",
            (true, false) => "·",
        };
        let mark = format!("{mark}{}", if row.goes_on { "↳" } else { " " });
        let mut style = hue(row.hue);
        if model.pane == Pane::Diff && number == model.line {
            style = style.add_modifier(Modifier::REVERSED);
        }
        let edge = if chosen { Style::new().fg(Color::Green) } else { Style::new() };
        let edge = if row.hunk == here { edge.add_modifier(Modifier::BOLD) } else { edge };
        Line::from(vec![Span::styled(mark, edge), Span::styled(row.text.clone(), style)])
    });
    frame.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), inner);
}

fn hue(hue: Hue) -> Style {
    match hue {
        Hue::Header => bold(),
        Hue::Heading => Style::new().fg(Color::Cyan),
        Hue::Added => Style::new().fg(Color::Green),
        Hue::Removed => Style::new().fg(Color::Red),
        Hue::Note => Style::new().fg(Color::Yellow),
        Hue::Plain => Style::new(),
    }
}

/// The bottom line: the search, or how much is chosen.
fn status(model: &Model) -> String {
    if model.typing {
        return format!("/{}", model.search);
    }
    let whole = model.files.iter().filter(|file| file.choice == Choice::Whole).count();
    let hunks: usize = model
        .files
        .iter()
        .map(|file| match &file.choice {
            Choice::Hunks(hunks) => hunks.len(),
            Choice::Nothing | Choice::Whole => 0,
        })
        .sum();
    let files = model.files.len();
    let chosen = match hunks {
        0 => format!("chosen: {whole} of {files}"),
        1 => format!("chosen: {whole} of {files}, 1 hunk"),
        hunks => format!("chosen: {whole} of {files}, {hunks} hunks"),
    };
    if model.search.is_empty() {
        format!("{chosen}  y/n choose  A apply  D discard  u undo  ? help  q leave")
    } else {
        format!("{chosen}  search: {}  n/N next, previous  esc ends", model.search)
    }
}

fn draw_dialog(model: &Model, dialog: &Dialog, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let width = screen.width.saturating_sub(4).min(76);
    let inside = usize::from(width.saturating_sub(2)).max(1);
    let (title, words) = dialog_words(model, dialog, inside);
    // Escaping twice changes nothing here, and what was not escaped yet is now.
    let words: Vec<String> = words
        .iter()
        .map(|line| Inert::block(line).to_string().replace(['\t', '\n'], " "))
        .collect();
    let rows: Vec<&str> = words.iter().flat_map(|line| folded(line, inside)).collect();
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX).min(screen.height);
    let area =
        Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    let text: Vec<Line<'_>> = rows.into_iter().map(Line::from).collect();
    let block = Block::bordered().title(format!(" {title} ")).border_style(bold());
    frame.render_widget(Paragraph::new(text).block(block), area);
}

/// `inside` is how many cells a row has.
fn dialog_words(model: &Model, dialog: &Dialog, inside: usize) -> (&'static str, Vec<String>) {
    match dialog {
        Dialog::Help => {
            ("Keys", HELP.iter().map(|(keys, words)| format!("{keys:<12} {words}")).collect())
        }
        Dialog::Told(words) => ("Cofferdam", words.clone()),
        Dialog::OwnYes { waiting, .. } => {
            let file = waiting.front().and_then(|at| model.files.get(*at));
            // No name and no reason is so long that it leaves no room for the rest.
            let mut words =
                vec!["Apply it too?  y yes  n leave it  esc back".to_owned(), String::new()];
            words.extend(file.map(|file| shortened(&file.name, 2 * inside)));
            let blocks = file.iter().flat_map(|file| &file.judgement.blocks);
            words.extend(blocks.map(|block| shortened(block, 3 * inside)));
            ("This needs a yes of its own", words)
        }
        Dialog::Sure(deed) => {
            let question = match deed {
                Deed::Apply(order) => format!("Apply {}?", order.in_words()),
                Deed::Discard(paths) => {
                    format!("Discard {} paths? They cannot be had back.", paths.len())
                }
                Deed::Undo => "Undo the latest apply of this run?".to_owned(),
            };
            ("Sure?", vec![question, String::new(), "y yes  n no".to_owned()])
        }
        Dialog::OverBudget { words, .. } => {
            let mut words = words.clone();
            words.extend([String::new(), "Apply all the same?  y yes  n no".to_owned()]);
            ("This is a lot", words)
        }
        Dialog::Leave => {
            let words = ["What you chose is not applied.", "", "Leave?  y yes  n no"];
            ("Leave", words.map(str::to_owned).to_vec())
        }
    }
}

#[cfg(test)]
mod tests;
