//! A walk through the tree of a shell text that takes out each simple command.

use std::ops::Range;

use cofferdam_core::command::{Direction, Redirect, SimpleCommand, Word};
use tree_sitter::Node;

use super::unfold::{Inner, unfold};
use super::word::{Variables, word, words};

const MOST_ERRORS: usize = 20;

pub(super) struct Reader<'t> {
    text: &'t str,
    variables: Variables,
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) errors: Vec<Range<usize>>,
}

/// What is around a command.
#[derive(Debug, Clone, Default)]
struct Around {
    /// Programs whose output comes in.
    fed_by: Vec<String>,
    redirects: Vec<Redirect>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, root: Node<'_>) -> Self {
        let mut reader =
            Self { text, variables: Variables::new(), commands: Vec::new(), errors: Vec::new() };
        reader.assignments(root);
        reader
    }

    pub(super) fn statements(&mut self, root: Node<'_>) {
        self.node(root, &Around::default());
    }

    /// Notes variables that are given a value that is known, once.
    fn assignments(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            if node.kind() == "variable_assignment" {
                let name =
                    node.child_by_field_name("name").map(|name| &self.text[name.byte_range()]);
                let value = node.child_by_field_name("value");
                let is_plain = self.text[node.byte_range()].contains("=")
                    && !self.text[node.byte_range()].contains("+=");
                if let Some(name) = name {
                    let value = match value {
                        Some(value) => Some(word(self.text, value, &self.variables)),
                        None => Some(Word::known("")),
                    };
                    let value =
                        value.filter(|value| value.is_known && is_plain).map(|value| value.text);
                    self.variables.assign(name, value);
                }
            } else if node.kind() == "for_statement"
                && let Some(name) = node.child_by_field_name("variable")
            {
                self.variables.assign(&self.text[name.byte_range()], None);
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

    fn node(&mut self, node: Node<'_>, around: &Around) {
        if (node.is_error() || node.is_missing()) && self.errors.len() < MOST_ERRORS {
            self.errors.push(node.byte_range());
        }
        match node.kind() {
            "command" => self.command(node, around),
            "declaration_command" | "unset_command" => self.declaration(node, around),
            "redirected_statement" => self.redirected(node, around),
            "pipeline" => self.pipeline(node, around),
            "function_definition" => self.function(node, around),
            _ => self.children(node, around),
        }
    }

    fn children(&mut self, node: Node<'_>, around: &Around) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.node(child, around);
        }
    }

    fn command(&mut self, node: Node<'_>, around: &Around) {
        let mut command = SimpleCommand {
            redirects: around.redirects.clone(),
            fed_by: around.fed_by.clone(),
            range: node.byte_range(),
            ..SimpleCommand::default()
        };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {}
                "file_redirect" => command.redirects.extend(self.redirect(child)),
                "herestring_redirect" | "heredoc_redirect" => {}
                "comment" => {}
                _ => command.words.extend(words(self.text, child, &self.variables)),
            }
            // What runs among the words feeds the command.
            command.fed_by.extend(self.inner_programs(child));
        }
        command.fed_by.truncate(32);
        self.commands.push(command);
    }

    /// Takes the commands out of the substitutions below a node, and says which programs they start.
    fn inner_programs(&mut self, node: Node<'_>) -> Vec<String> {
        let first = self.commands.len();
        self.inner_commands(node);
        self.commands[first..].iter().flat_map(programs).collect()
    }

    /// Commands in the substitutions below a node.
    fn inner_commands(&mut self, node: Node<'_>) {
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                self.children(node, &Around::default())
            }
            _ => {
                if (node.is_error() || node.is_missing()) && self.errors.len() < MOST_ERRORS {
                    self.errors.push(node.byte_range());
                }
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    self.inner_commands(child);
                }
            }
        }
    }

    /// `export A=$(…)`: the word and its names; what runs in the values counts.
    fn declaration(&mut self, node: Node<'_>, around: &Around) {
        let mut command = SimpleCommand {
            redirects: around.redirects.clone(),
            range: node.byte_range(),
            ..SimpleCommand::default()
        };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            command.words.push(match child.kind() {
                "variable_assignment" | "variable_name" => {
                    Word::known(&self.text[child.byte_range()])
                }
                _ => word(self.text, child, &self.variables),
            });
            self.inner_commands(child);
        }
        self.commands.push(command);
    }

    fn redirected(&mut self, node: Node<'_>, around: &Around) {
        let mut inner = around.clone();
        let mut bodies = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_redirect" => {
                    inner.redirects.extend(self.redirect(child));
                    inner.fed_by.extend(self.inner_programs(child));
                }
                "herestring_redirect" => inner.fed_by.extend(self.inner_programs(child)),
                // A pipe may stand in the line that opens the document.
                "heredoc_redirect" => self.heredoc(child, around),
                _ => bodies.push(child),
            }
        }
        if bodies.is_empty() {
            let redirects = inner.redirects;
            self.commands.push(SimpleCommand {
                redirects,
                range: node.byte_range(),
                ..SimpleCommand::default()
            });
            return;
        }
        for body in bodies {
            self.node(body, &inner);
        }
    }

    fn heredoc(&mut self, node: Node<'_>, around: &Around) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "heredoc_body" => self.inner_commands(child),
                "heredoc_start" | "heredoc_end" => {}
                _ => self.node(child, around),
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>) -> Option<Redirect> {
        let target = node.child_by_field_name("destination")?;
        let raw = &self.text[node.byte_range()];
        let sign = raw.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        let direction = if sign.starts_with('<') && !sign.starts_with("<>") {
            Direction::Read
        } else {
            Direction::Write
        };
        Some(Redirect { direction, target: word(self.text, target, &self.variables) })
    }

    fn pipeline(&mut self, node: Node<'_>, around: &Around) {
        let mut inner = around.clone();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let first = self.commands.len();
            self.node(child, &inner);
            inner
                .fed_by
                .extend(self.commands[first..].iter().flat_map(programs).collect::<Vec<_>>());
            inner.fed_by.truncate(32);
        }
    }

    fn function(&mut self, node: Node<'_>, around: &Around) {
        let name =
            node.child_by_field_name("name").map(|name| self.text[name.byte_range()].to_owned());
        let first = self.commands.len();
        self.children(node, around);
        let Some(name) = name else { return };
        let calls = |command: &&SimpleCommand| command.program() == Some(name.as_str());
        let calls = self.commands[first..].iter().filter(calls).count();
        if calls >= 2 {
            self.commands.push(SimpleCommand {
                words: vec![Word::known(format!("{name}()"))],
                multiplies: true,
                range: node.byte_range(),
                ..SimpleCommand::default()
            });
        }
    }
}

/// The program of a command, and those that it is a wrapper of.
fn programs(command: &SimpleCommand) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = Some(command.clone());
    while let Some(command) = next.filter(|_| found.len() < 8) {
        found.extend(command.program().map(str::to_owned));
        next = match unfold(&command) {
            Inner::Command { words, .. } => {
                Some(SimpleCommand { words, ..SimpleCommand::default() })
            }
            // What a text in a shell starts is not looked for here; its first word is most often it.
            Inner::Text { text, .. } => {
                let words = text.split_ascii_whitespace().take(1).map(Word::known).collect();
                Some(SimpleCommand { words, ..SimpleCommand::default() })
            }
            Inner::Nothing => None,
        };
    }
    found
}
