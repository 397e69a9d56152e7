//! JavaScript and TypeScript: parsed, names followed, and held against the rules.
//!
//! Names are followed in the file as a whole, without scopes: `const { exec: e } = require("child_process")` makes
//! every `e` of the file `child_process.exec`. A module is known by its name, `fs/promises` as `fs.promises`.

mod meaning;

use std::ops::{ControlFlow, Range};

use ast_grep_core::Doc as _;
use ast_grep_core::tree_sitter::StrDoc;
use tree_sitter::Node;

use super::language::Lang;
use super::own;
use super::resolved::{Edit, Resolved};
use super::rules::Ruleset;
use super::scan::{self, Depth, TooHard};
use super::sink::Sink;
use meaning::Names;

/// Looks at a program through rules about what names stand for. `document` is its tree.
pub(super) fn check(text: &str, document: &StrDoc<Lang>, rules: &Ruleset, sink: &mut Sink<'_>) {
    let root = document.root_node();
    let names = Names::of(text, root);
    let most = names.most_paths().max(1);
    for variant in 0..most {
        let mut resolved = Resolved::default();
        let mut edits = Vec::new();
        collect(text, root, &names, variant, &mut edits);
        resolved.piece(text, 0..text.len(), &edits);
        if variant == 0 {
            for (module, range) in names.modules() {
                resolved.replace(range.clone(), &format!("\n;import_of({module:?});"));
            }
            for (path, range) in names.imported() {
                resolved.replace(range.clone(), &format!("\n;{path};"));
            }
        }
        match scan::parse(resolved.text(), document.lang, Depth::Measured) {
            Err(TooHard::Steps) => sink.own(&own::TOO_HARD, 0..0),
            Err(TooHard::Depth) => sink.own(&own::TOO_DEEP, 0..0),
            Ok(document) => scan::matches(document, rules, &mut |rule, range| {
                sink.rule(rules.facts(rule), resolved.source(range));
                ControlFlow::Continue(())
            }),
        }
    }
}

/// What stands for something else, outermost first, in the order of the text.
fn collect(text: &str, root: Node<'_>, names: &Names, variant: usize, edits: &mut Vec<Edit>) {
    let mut cursor = root.walk();
    // Asking a node for its parent would take a walk from the root each time.
    let mut above: Vec<&str> = Vec::new();
    loop {
        let node = cursor.node();
        let parent = above.last().copied().unwrap_or_default();
        let is_bound = node.kind() == "identifier" && is_binding(parent, cursor.field_name());
        let edit = if is_bound { None } else { edit(text, node, names, variant) };
        let skip = edit.is_some() || node.kind() == "import_statement";
        edits.extend(edit);
        if !skip && cursor.goto_first_child() {
            above.push(node.kind());
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            above.pop();
        }
    }
}

fn edit(text: &str, node: Node<'_>, names: &Names, variant: usize) -> Option<Edit> {
    let range: Range<usize> = node.byte_range();
    let is_name = matches!(node.kind(), "identifier" | "shorthand_property_identifier");
    let chains = [
        "member_expression",
        "subscript_expression",
        "call_expression",
        "parenthesized_expression",
        "await_expression",
    ];
    if !is_name && !chains.contains(&node.kind()) {
        return None;
    }
    let paths = names.paths(text, node);
    let path = paths.get(variant).or_else(|| paths.first())?;
    if text[range.clone()] == **path && node.kind() != "shorthand_property_identifier" {
        return None;
    }
    let text = match node.kind() {
        "shorthand_property_identifier" => format!("{}: {path}", &text[range.clone()]),
        _ => path.clone(),
    };
    Some(Edit { range, text })
}

/// Whether a name stands where it gets its meaning, not where it is used.
fn is_binding(parent: &str, field: Option<&str>) -> bool {
    match parent {
        "variable_declarator"
        | "function_declaration"
        | "function_expression"
        | "class_declaration"
        | "enum_declaration"
        | "generator_function_declaration"
        | "required_parameter"
        | "optional_parameter" => {
            matches!(field, Some("name" | "pattern"))
        }
        "formal_parameters" | "catch_clause" | "rest_pattern" | "labeled_statement"
        | "array_pattern" => true,
        "assignment_expression" | "assignment_pattern" | "object_assignment_pattern" => {
            field == Some("left")
        }
        "arrow_function" => field == Some("parameter"),
        "pair_pattern" => field == Some("value"),
        _ => false,
    }
}
