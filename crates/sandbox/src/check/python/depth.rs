//! How deep a program nests at most, found from its tokens alone.
//!
//! A tree is walked and dropped by recursion. So depth is bounded before there is a tree: by counting what could make
//! it deeper, brackets, operators and indentation, a little too much rather than too little.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// An upper bound for the depth of the tree of `source`.
pub(super) fn bound(source: &str) -> usize {
    let mut lexer = lexer::lex(source, Mode::Module);
    // One count a bracket that is open: operators since its last comma.
    let mut open = vec![0_usize];
    let (mut sum, mut indented, mut deepest) = (0_usize, 0_usize, 0_usize);
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return deepest,
            TokenKind::Indent => indented += 1,
            TokenKind::Dedent => indented = indented.saturating_sub(1),
            TokenKind::Newline => {
                open.clear();
                open.push(0);
                sum = 0;
            }
            TokenKind::Comma | TokenKind::Semi => {
                if let Some(last) = open.last_mut() {
                    sum -= std::mem::take(last);
                }
            }
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                count(&mut open, &mut sum);
                open.push(0);
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => {
                if open.len() > 1 {
                    sum -= open.pop().unwrap_or(0);
                }
            }
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline => {}
            _ => count(&mut open, &mut sum),
        }
        deepest = deepest.max(sum + indented);
    }
}

fn count(open: &mut [usize], sum: &mut usize) {
    if let Some(last) = open.last_mut() {
        *last += 1;
        *sum += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nests_counts_and_what_lies_side_by_side_does_not() {
        assert!(bound("x = [1, 2, 3]\n") < 5);
        assert!(bound(&format!("x = [{}]\n", "1,".repeat(10_000))) < 5);
        assert!(bound(&"x = 1\n".repeat(10_000)) < 5);
        for (deep, what) in [
            (format!("x = {}1\n", "1+".repeat(5000)), "operators"),
            (format!("x = a{}\n", ".b".repeat(5000)), "attributes"),
            (format!("x = a{}\n", "()".repeat(5000)), "calls"),
            (format!("x = {}\n", "(".repeat(5000)), "brackets"),
            (format!("x = {}1\n", "not ".repeat(5000)), "words"),
            (format!("x = {}1\n", "lambda: ".repeat(5000)), "lambdas"),
            (format!("x = f\"{{a{}}}\"\n", ".b".repeat(5000)), "in f-strings"),
        ] {
            assert!(bound(&deep) >= 5000, "{what}");
        }
    }
}
