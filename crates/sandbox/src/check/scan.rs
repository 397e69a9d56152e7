//! Rules held against a syntax tree.
//!
//! [`parse`] makes the tree within a number of steps and of readings that follows from the text's length: a text that the
//! parser's repairing or looking ahead would take minutes for is given up after the same step on every machine. [`matches`] walks
//! the tree once, without recursion.

use std::ops::{ControlFlow, Range};

use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::tree_sitter::{LanguageExt as _, StrDoc};
use ast_grep_core::{AstGrep, Doc as _};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::language::Lang;
use super::rules::Ruleset;

/// The tree is deeper than this: nobody wrote that, and what looks at it would take the square of its depth.
pub(super) const DEEPEST: usize = 3000;

/// Why there is no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooHard {
    Steps,
    Depth,
}

/// Whether a tree can be too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// It cannot: the text says so already.
    Known,
    Measured,
}

/// The tree of a text. Errors in it are nodes of the tree.
pub(super) fn parse(text: &str, lang: Lang, how: Depth) -> Result<StrDoc<Lang>, TooHard> {
    let tree = tree(text, lang).ok_or(TooHard::Steps)?;
    if how == Depth::Measured && depth(&tree) > DEEPEST {
        return Err(TooHard::Depth);
    }
    Ok(StrDoc { src: text.to_owned(), lang, tree })
}

/// The text is handed to the parser in pieces, so that it is seen how often it is read.
const PIECE: usize = 1024;
/// Sound text is read once or twice, with some of it again where the parser looks ahead.
const MOST_READINGS: usize = 32;
/// What may be read of a short text.
const READ_ANYWAY: usize = 4 << 20;

/// Both bounds are needed: a grammar may look ahead over all that is left within one step.
pub(crate) fn tree(text: &str, lang: Lang) -> Option<Tree> {
    // The parser asks once in a hundred of its steps. Sound text takes less than one step a byte.
    let mut left = 4_000 + text.len() / 10;
    let mut ask = |_: &ParseState| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut parser = Parser::new();
    parser.set_language(&lang.get_ts_language()).ok()?;
    let bytes = text.as_bytes();
    let mut unread = Some(READ_ANYWAY + text.len().saturating_mul(MOST_READINGS));
    let mut piece = |at: usize, _| {
        let end = bytes.len().min(at.saturating_add(PIECE));
        let piece = bytes.get(at..end).unwrap_or_default();
        unread = unread.and_then(|left| left.checked_sub(piece.len()));
        // To the parser the text ends here, which it comes to terms with soon.
        if unread.is_some() { piece } else { &[] }
    };
    let options = ParseOptions::new().progress_callback(&mut ask);
    let tree = parser.parse_with_options(&mut piece, None, Some(options));
    unread.and(tree)
}

pub(crate) fn depth(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let (mut depth, mut deepest) = (0_usize, 0);
    loop {
        deepest = deepest.max(depth);
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return deepest;
            }
            depth -= 1;
        }
    }
}

/// Calls `found` with each rule that matches, by its place in the set, and the bytes that it matches.
pub(super) fn matches(
    document: StrDoc<Lang>,
    rules: &Ruleset,
    found: &mut dyn FnMut(usize, Range<usize>) -> ControlFlow<()>,
) {
    let root = AstGrep::doc(document);
    let mut fitting = Vec::new();
    for node in root.root().dfs() {
        let kind = node.kind_id();
        if rules.of_kind(kind).is_empty() {
            continue;
        }
        rules.of_text(kind, &node.text(), &mut fitting);
        for &rule in &fitting {
            if rules.matcher(rule).match_node(node.clone()).is_some()
                && found(rule, node.range()).is_break()
            {
                return;
            }
        }
    }
}

/// The first errors of a tree: what could not be understood, and what is missing.
pub(super) fn errors(document: &StrDoc<Lang>, most: usize) -> Vec<Range<usize>> {
    let root = document.root_node();
    let mut found = Vec::new();
    if !root.has_error() {
        return found;
    }
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let is_error = node.is_error() || node.is_missing();
        if is_error {
            found.push(node.byte_range());
            if found.len() == most {
                return found;
            }
        }
        if !is_error && node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
