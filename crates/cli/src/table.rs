//! Columns for people. Every cell is rendered inert: some hold what a program chose.

use std::io::{self, Write};

use cofferdam_core::inert::Inert;

use crate::rendered::Rendered;

/// Rows of text, printed under a heading with columns as wide as their widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(ToString::to_string).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| Inert::line(&cell).to_string());
        self.rows.push(cells.collect());
    }

    /// A row whose last cell is inert already.
    pub(crate) fn row_and(&mut self, cells: impl IntoIterator<Item = String>, last: &Rendered) {
        self.row(cells);
        self.rows.last_mut().into_iter().for_each(|row| row.push(last.to_string()));
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:<width$}  "));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
