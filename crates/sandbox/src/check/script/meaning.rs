//! What names of a script stand for.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

const LONGEST: usize = 128;
const MOST_PATHS: usize = 4;
const DEEPEST: usize = 16;
const MOST_IMPORTS: usize = 2000;
/// Names of the global object itself.
const GLOBALS: &[&str] = &["globalThis", "window", "global", "self"];

/// Names of a file, and what was imported by it.
#[derive(Debug, Default)]
pub(super) struct Names {
    bound: HashMap<String, Vec<String>>,
    texts: HashMap<String, Option<String>>,
    modules: Vec<(String, Range<usize>)>,
    imported: Vec<(String, Range<usize>)>,
}

impl Names {
    /// Reads all bindings of a file. What stands for a name that is bound further down is followed too, so it is
    /// read twice.
    pub(super) fn of(text: &str, root: Node<'_>) -> Self {
        let mut names = Self::default();
        names.read(text, root);
        names.modules.clear();
        names.imported.clear();
        names.read(text, root);
        names
    }

    pub(super) fn modules(&self) -> &[(String, Range<usize>)] {
        &self.modules
    }

    pub(super) fn imported(&self) -> &[(String, Range<usize>)] {
        &self.imported
    }

    pub(super) fn most_paths(&self) -> usize {
        self.bound.values().map(Vec::len).max().unwrap_or(0)
    }

    fn read(&mut self, text: &str, root: Node<'_>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            match node.kind() {
                "import_statement" => self.import(text, node),
                "variable_declarator" => {
                    if let (Some(name), Some(value)) = (field(node, "name"), field(node, "value")) {
                        self.bind(text, name, value);
                    }
                }
                "assignment_expression" => {
                    if let (Some(name), Some(value)) = (field(node, "left"), field(node, "right")) {
                        self.bind(text, name, value);
                    }
                }
                "call_expression" => {
                    if let Some(module) = self.required(text, node, 0) {
                        self.module(module, node.byte_range());
                    }
                }
                _ => {}
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn module(&mut self, name: String, range: Range<usize>) {
        if self.modules.len() < MOST_IMPORTS {
            self.modules.push((name, range));
        }
    }

    fn add(&mut self, name: &str, path: String) {
        let fits = path.len() <= LONGEST && path != name;
        let paths = self.bound.entry(name.to_owned()).or_default();
        if fits && paths.len() < MOST_PATHS && !paths.contains(&path) {
            paths.push(path);
        }
    }

    fn import(&mut self, text: &str, node: Node<'_>) {
        let source = field(node, "source").or_else(|| {
            // `import x = require("y")`
            let mut cursor = node.walk();
            node.children(&mut cursor)
                .find(|child| child.kind() == "import_require_clause")
                .and_then(|c| field(c, "source"))
        });
        let Some(module) = source.and_then(|source| self.text(text, source, 0)) else { return };
        let path = module_path(&module);
        self.module(plain(&module).to_owned(), node.byte_range());
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                match (node.kind(), child.kind()) {
                    (
                        "import_clause" | "namespace_import" | "import_require_clause",
                        "identifier",
                    ) => {
                        self.add(&text[child.byte_range()], path.clone());
                    }
                    (_, "import_specifier") => {
                        let Some(name) = field(child, "name") else { continue };
                        let local = field(child, "alias").unwrap_or(name);
                        let full = match &text[name.byte_range()] {
                            "default" => path.clone(),
                            name => format!("{path}.{name}"),
                        };
                        if self.imported.len() < MOST_IMPORTS && full.len() <= LONGEST {
                            self.imported.push((full.clone(), node.byte_range()));
                        }
                        self.add(&text[local.byte_range()], full);
                    }
                    (
                        _,
                        "import_clause"
                        | "named_imports"
                        | "namespace_import"
                        | "import_require_clause",
                    ) => stack.push(child),
                    _ => {}
                }
            }
        }
    }

    fn bind(&mut self, text: &str, name: Node<'_>, value: Node<'_>) {
        match name.kind() {
            "identifier" => {
                let local = &text[name.byte_range()];
                for path in self.paths(text, value) {
                    self.add(local, path);
                }
                if let Some(known) = self.text(text, value, 0) {
                    let slot =
                        self.texts.entry(local.to_owned()).or_insert_with(|| Some(known.clone()));
                    if slot.as_ref() != Some(&known) {
                        *slot = None;
                    }
                }
            }
            "object_pattern" => {
                let bases = self.paths(text, value);
                let mut cursor = name.walk();
                for part in name.children(&mut cursor) {
                    let (key, local) = match part.kind() {
                        "shorthand_property_identifier_pattern" => (part, part),
                        "pair_pattern" => match (field(part, "key"), field(part, "value")) {
                            (Some(key), Some(local)) if local.kind() == "identifier" => {
                                (key, local)
                            }
                            _ => continue,
                        },
                        "object_assignment_pattern" => match field(part, "left") {
                            Some(left) => (left, left),
                            None => continue,
                        },
                        _ => continue,
                    };
                    for base in &bases {
                        let full = join(base, &text[key.byte_range()]);
                        if self.imported.len() < MOST_IMPORTS && full.len() <= LONGEST {
                            self.imported.push((full.clone(), part.byte_range()));
                        }
                        self.add(&text[local.byte_range()], full);
                    }
                }
            }
            _ => {}
        }
    }

    /// The paths that an expression may be.
    pub(super) fn paths(&self, text: &str, node: Node<'_>) -> Vec<String> {
        let mut paths = self.look(text, node, 0);
        paths.retain(|path| path.len() <= LONGEST);
        paths.truncate(MOST_PATHS);
        paths
    }

    fn look(&self, text: &str, node: Node<'_>, depth: usize) -> Vec<String> {
        if depth > DEEPEST {
            return Vec::new();
        }
        let depth = depth + 1;
        match node.kind() {
            "identifier" | "shorthand_property_identifier" => {
                let name = &text[node.byte_range()];
                match self.bound.get(name).filter(|paths| !paths.is_empty()) {
                    Some(paths) => paths.clone(),
                    None => vec![name.to_owned()],
                }
            }
            "member_expression" => match (field(node, "object"), field(node, "property")) {
                (Some(object), Some(property)) => {
                    let name = &text[property.byte_range()];
                    self.look(text, object, depth).iter().map(|base| join(base, name)).collect()
                }
                _ => Vec::new(),
            },
            "subscript_expression" => {
                let index = field(node, "index").and_then(|index| self.text(text, index, depth));
                match (field(node, "object"), index.filter(|index| is_name(index))) {
                    (Some(object), Some(name)) => self
                        .look(text, object, depth)
                        .iter()
                        .map(|base| join(base, &name))
                        .collect(),
                    _ => Vec::new(),
                }
            }
            "parenthesized_expression"
            | "await_expression"
            | "non_null_expression"
            | "as_expression" => {
                node.named_child(0).map(|inner| self.look(text, inner, depth)).unwrap_or_default()
            }
            "sequence_expression" => {
                let last = u32::try_from(node.named_child_count()).unwrap_or(0).saturating_sub(1);
                node.named_child(last)
                    .map(|inner| self.look(text, inner, depth))
                    .unwrap_or_default()
            }
            "call_expression" => self
                .required(text, node, depth)
                .map(|module| module_path(&module))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The module that a call brings in.
    fn required(&self, text: &str, node: Node<'_>, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        let function = field(node, "function")?;
        let argument = field(node, "arguments")?.named_child(0)?;
        let brings = match function.kind() {
            "import" => true,
            "identifier"
            | "member_expression"
            | "subscript_expression"
            | "parenthesized_expression" => {
                let known = [
                    "require",
                    "module.require",
                    "process.mainModule.require",
                    "process.getBuiltinModule",
                    "require.main.require",
                ];
                self.look(text, function, depth + 1)
                    .iter()
                    .any(|path| known.contains(&path.as_str()))
            }
            "call_expression" => field(function, "function").is_some_and(|maker| {
                self.look(text, maker, depth + 1)
                    .iter()
                    .any(|path| path.ends_with("module.createRequire"))
            }),
            _ => false,
        };
        brings
            .then(|| self.text(text, argument, depth + 1))
            .flatten()
            .map(|module| plain(&module).to_owned())
    }

    /// A text that is known without running anything.
    fn text(&self, text: &str, node: Node<'_>, depth: usize) -> Option<String> {
        if depth > DEEPEST || node.byte_range().len() > 4 * LONGEST {
            return None;
        }
        let depth = depth + 1;
        let known = match node.kind() {
            "string" => {
                let raw = &text[node.byte_range()];
                let inner = raw.get(1..raw.len().checked_sub(1)?)?;
                unescaped(inner)?
            }
            "template_string" => {
                let raw = &text[node.byte_range()];
                let inner = raw.get(1..raw.len().checked_sub(1)?)?;
                if inner.contains("${") {
                    return None;
                }
                unescaped(inner)?
            }
            "binary_expression" => {
                let sign = field(node, "operator").map(|sign| &text[sign.byte_range()]);
                if sign != Some("+") {
                    return None;
                }
                let left = self.text(text, field(node, "left")?, depth)?;
                left + &self.text(text, field(node, "right")?, depth)?
            }
            "parenthesized_expression" => self.text(text, node.named_child(0)?, depth)?,
            "identifier" => self.texts.get(&text[node.byte_range()])?.clone()?,
            "call_expression" => {
                // `["a", "b"].join("")`
                let function =
                    field(node, "function").filter(|f| f.kind() == "member_expression")?;
                let list = field(function, "object").filter(|list| list.kind() == "array")?;
                if &text[field(function, "property")?.byte_range()] != "join" {
                    return None;
                }
                let between = field(node, "arguments")?.named_child(0);
                let between = match between {
                    Some(between) => self.text(text, between, depth)?,
                    None => ",".to_owned(),
                };
                let mut cursor = list.walk();
                let parts: Option<Vec<String>> = list
                    .named_children(&mut cursor)
                    .map(|part| self.text(text, part, depth))
                    .collect();
                parts?.join(&between)
            }
            _ => return None,
        };
        (known.len() <= LONGEST).then_some(known)
    }
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// `globalThis.x` is `x`.
fn join(base: &str, name: &str) -> String {
    match GLOBALS.contains(&base) {
        true => name.to_owned(),
        false => format!("{base}.{name}"),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// A module's name without the prefix that built-in ones may have.
fn plain(module: &str) -> &str {
    module.strip_prefix("node:").unwrap_or(module)
}

/// A module's name as one can write it in code.
fn module_path(module: &str) -> String {
    let name = plain(module);
    name.chars()
        .map(|c| match c {
            '/' => '.',
            c if c.is_alphanumeric() || c == '_' || c == '.' => c,
            _ => '_',
        })
        .collect::<String>()
        .trim_matches('.')
        .replace("..", ".")
}

fn unescaped(raw: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let kind = rest.chars().next()?;
        rest = &rest[kind.len_utf8()..];
        let digits = match kind {
            'x' => 2,
            'u' if rest.starts_with('{') => {
                let end = rest.find('}')?;
                text.push(char::from_u32(u32::from_str_radix(&rest[1..end], 16).ok()?)?);
                rest = &rest[end + 1..];
                continue;
            }
            'u' => 4,
            'n' | 't' | 'r' | 'b' | 'f' | 'v' | '0' | '\n' => return None,
            other => {
                text.push(other);
                continue;
            }
        };
        text.push(char::from_u32(u32::from_str_radix(rest.get(..digits)?, 16).ok()?)?);
        rest = &rest[digits..];
    }
    text.push_str(rest);
    Some(text)
}
