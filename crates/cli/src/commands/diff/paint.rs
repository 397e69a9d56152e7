//! Colours of a diff, those that git has.

use std::io::IsTerminal as _;

use clap::ValueEnum;

use crate::context::allows_colour;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Coloured,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Hue {
    Header,
    Heading,
    Added,
    Removed,
    Note,
    Plain,
}

impl Paint {
    pub(crate) fn new(when: When) -> Self {
        let auto = std::io::stdout().is_terminal() && allows_colour();
        match when {
            When::Always => Self::Coloured,
            When::Auto if auto => Self::Coloured,
            When::Auto | When::Never => Self::Plain,
        }
    }

    /// What is written before and after.
    pub(crate) fn around(self, hue: Hue) -> (&'static str, &'static str) {
        let start = match (self, hue) {
            (Self::Plain, _) | (_, Hue::Plain) => return ("", ""),
            (_, Hue::Header) => "\x1b[1m",
            (_, Hue::Heading) => "\x1b[36m",
            (_, Hue::Added) => "\x1b[32m",
            (_, Hue::Removed) => "\x1b[31m",
            (_, Hue::Note) => "\x1b[33m",
        };
        (start, "\x1b[m")
    }
}
