//! How much changed, by file: names, counts and bars, as git shows them.

use std::io::{self, Write};

use cofferdam_core::changes::Node;
use cofferdam_core::changes::text::Sides;
use cofferdam_sandbox::changes::diff::{Contents, Item};

use super::paint::{Hue, Paint};
use super::piece::{Body, pieces};
use crate::failure::Failure;

/// Rows that are held to find out how wide they are. More than that are written with the width of these.
const HELD: usize = 2000;
const WIDTH: usize = 80;
const WIDEST_NAME: usize = 50;

#[derive(Debug)]
pub(super) struct Stat {
    paint: Paint,
    rows: Vec<Row>,
    layout: Option<Layout>,
    files: u64,
    added: usize,
    removed: usize,
}

#[derive(Debug)]
struct Row {
    name: String,
    count: Count,
}

#[derive(Debug)]
enum Count {
    Lines { added: usize, removed: usize },
    Word(String),
}

#[derive(Debug, Clone, Copy)]
struct Layout {
    name: usize,
    count: usize,
    /// The most lines that a row of those looked at has.
    most: usize,
}

impl Stat {
    pub(super) fn new(paint: Paint) -> Self {
        Self { paint, rows: Vec::new(), layout: None, files: 0, added: 0, removed: 0 }
    }

    pub(super) fn see(
        &mut self,
        item: &Item,
        contents: &Contents,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if item.implied {
            return Ok(());
        }
        self.files += 1;
        let count = count(item, contents)?;
        if let Count::Lines { added, removed } = count {
            self.added += added;
            self.removed += removed;
        }
        let name = match &item.origin {
            Some(origin) => format!("{} => {}", origin.from.path, item.entry.path),
            None => item.entry.path.to_string(),
        };
        self.rows.push(Row { name, count });
        if self.rows.len() > HELD {
            self.flush(out)?;
        }
        Ok(())
    }

    pub(super) fn end(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.flush(out)?;
        if self.files == 0 {
            return Ok(());
        }
        let plural = |count: u64, one: &str, many: &str| {
            format!("{count} {}", if count == 1 { one } else { many })
        };
        let mut parts = vec![plural(self.files, "file changed", "files changed")];
        let (added, removed) = (self.added as u64, self.removed as u64);
        if added > 0 {
            parts.push(plural(added, "insertion(+)", "insertions(+)"));
        }
        if removed > 0 {
            parts.push(plural(removed, "deletion(-)", "deletions(-)"));
        }
        writeln!(out, " {}", parts.join(", "))
    }

    fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let layout = *self.layout.get_or_insert_with(|| Layout::of(&self.rows));
        for row in self.rows.drain(..) {
            let name = shortened(&row.name, layout.name);
            match row.count {
                Count::Word(word) => writeln!(out, " {name} | {word}")?,
                Count::Lines { added, removed } => {
                    let bar = bar(added, removed, layout, self.paint);
                    let (total, width) = (added + removed, layout.count);
                    let line = format!(" {name} | {total:>width$} {bar}");
                    writeln!(out, "{}", line.trim_end())?;
                }
            }
        }
        Ok(())
    }
}

impl Layout {
    fn of(rows: &[Row]) -> Self {
        let most = rows.iter().map(|row| match row.count {
            Count::Lines { added, removed } => added + removed,
            Count::Word(_) => 0,
        });
        let most = most.max().unwrap_or(0);
        let name = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        Self { name: name.min(WIDEST_NAME), count: most.to_string().len(), most }
    }
}

fn bar(added: usize, removed: usize, layout: Layout, paint: Paint) -> String {
    let room = WIDTH.saturating_sub(layout.name + layout.count + 5).max(10);
    let scaled = |count: usize| {
        if layout.most <= room || count == 0 { count } else { (count * room / layout.most).max(1) }
    };
    let part = |sign: &str, count: usize, hue: Hue| {
        let (start, end) = paint.around(hue);
        if count == 0 { String::new() } else { format!("{start}{}{end}", sign.repeat(count)) }
    };
    part("+", scaled(added), Hue::Added) + &part("-", scaled(removed), Hue::Removed)
}

/// Padded to `width`; where it is longer, only its end, which tells more.
fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return format!("{name:<width$}");
    }
    let tail: String = name.chars().skip(length - (width - 3)).collect();
    format!("...{tail}")
}

fn count(item: &Item, contents: &Contents) -> Result<Count, Failure> {
    let (mut added, mut removed) = (0, 0);
    for piece in pieces(item) {
        let size =
            |node: Option<&Node>| node.and_then(|node| node.file()).map_or(0, |file| file.size);
        match piece.body(contents)? {
            Body::Same => {
                let node = piece.new.or(piece.old);
                if let Some(Node::Directory { .. } | Node::Special { .. }) = node {
                    return Ok(Count::Word(node.map_or("", Node::kind).to_owned()));
                }
            }
            Body::Text { old, new } => {
                let (more, less) = Sides::compare(&old, &new).counts();
                added += more;
                removed += less;
            }
            Body::OnlyNew { new, .. } => added += Sides::compare(b"", &new).counts().0,
            Body::Binary | Body::TooLarge => {
                let word = format!("Bin {} -> {} bytes", size(piece.old), size(piece.new));
                return Ok(Count::Word(word));
            }
            Body::Gone(why) => return Ok(Count::Word(why.to_owned())),
        }
    }
    Ok(Count::Lines { added, removed })
}
