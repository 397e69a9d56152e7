//! What an expression stands for: a path such as `os.system`, or a text that is known without running it.
//!
//! `getattr(os, "sys" + "tem")`, `__import__("os").system`, `sys.modules["os"].system` and
//! `vars(builtins)["eval"]` are all read as the names that they lead to. Everything is bounded: how many paths an
//! expression may have, how long they are, and how far names are followed.

use std::cell::Cell;

use ruff_python_ast::{Expr, ExprCall, ExprSubscript, InterpolatedStringElement, Operator};

use super::scope::{Bound, Scopes, elements};

/// Nothing that a rule speaks of is longer.
const LONGEST_PATH: usize = 128;
const LONGEST_TEXT: usize = 256;
const MOST_PATHS: usize = 4;
/// How many names and parts are followed.
const DEEPEST: usize = 12;
const MOST_STEPS: usize = 200;
/// What stands for the dictionary of a module's names.
const GLOBALS: &str = "globals()";

/// The paths that `expr`, standing in `scope`, may be.
pub(super) fn paths(scopes: &Scopes<'_>, expr: &Expr, scope: usize) -> Vec<String> {
    Reader::new(scopes).paths(expr, scope, 0)
}

/// The same for a name alone.
pub(super) fn name_paths(scopes: &Scopes<'_>, name: &str, scope: usize) -> Vec<String> {
    let reader = Reader::new(scopes);
    let mut found = Vec::new();
    reader.name(name, scope, 0, &mut found);
    found
}

/// Whether a function of this name, or at the end of this path, gives something that is known by a text.
pub(super) fn leads_on(path: &str) -> bool {
    matches!(
        path.rsplit('.').next(),
        Some(
            "__import__"
                | "import_module"
                | "getattr"
                | "vars"
                | "globals"
                | "locals"
                | "get"
                | "__getitem__"
                | "pop"
                | "__getattribute__"
        )
    )
}

struct Reader<'s, 'a> {
    scopes: &'s Scopes<'a>,
    /// What may still be looked at: names that are bound many times to names that are bound many times
    /// must not take for ever.
    steps: Cell<usize>,
}

impl<'s, 'a> Reader<'s, 'a> {
    const fn new(scopes: &'s Scopes<'a>) -> Self {
        Self { scopes, steps: Cell::new(MOST_STEPS) }
    }

    /// Whether there is a step left, which is taken.
    fn step(&self, depth: usize) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0 && depth < DEEPEST
    }

    fn paths(&self, expr: &Expr, scope: usize, depth: usize) -> Vec<String> {
        let mut found = Vec::new();
        if self.step(depth) {
            self.collect(expr, scope, depth + 1, &mut found);
        }
        found
    }

    fn collect(&self, expr: &Expr, scope: usize, depth: usize, found: &mut Vec<String>) {
        match expr {
            Expr::Name(name) => self.name(&name.id, scope, depth, found),
            Expr::Attribute(attribute) => {
                for base in self.paths(&attribute.value, scope, depth) {
                    push(found, member(&base, &attribute.attr));
                }
            }
            Expr::Call(call) => self.call(call, scope, depth, found),
            Expr::Subscript(subscript) => self.subscript(subscript, scope, depth, found),
            Expr::Named(named) => found.extend(self.paths(&named.value, scope, depth)),
            Expr::If(either) => {
                for part in [&either.body, &either.orelse] {
                    self.paths(part, scope, depth).into_iter().for_each(|path| push(found, path));
                }
            }
            Expr::BoolOp(either) => {
                for part in either.values.iter().take(MOST_PATHS) {
                    self.paths(part, scope, depth).into_iter().for_each(|path| push(found, path));
                }
            }
            _ => {}
        }
    }

    fn name(&self, name: &str, scope: usize, depth: usize, found: &mut Vec<String>) {
        let meaning = self.scopes.meaning(name, scope);
        for bound in meaning.bound {
            match bound {
                Bound::Path(path) => push(found, path.clone()),
                Bound::Value(value, seen_from) => {
                    self.paths(value, *seen_from, depth)
                        .into_iter()
                        .for_each(|path| push(found, path));
                }
                Bound::Item(list, seen_from) => {
                    for item in elements(list).unwrap_or_default().iter().take(MOST_PATHS) {
                        let paths = self.paths(item, *seen_from, depth);
                        paths.into_iter().for_each(|path| push(found, path));
                    }
                }
                Bound::Unknown => {}
            }
        }
        if meaning.is_free {
            self.scopes.stars().iter().for_each(|module| push(found, format!("{module}.{name}")));
        }
        if meaning.builtin {
            push(
                found,
                if name == "__builtins__" {
                    "builtins".to_owned()
                } else {
                    format!("builtins.{name}")
                },
            );
        }
    }

    fn call(&self, call: &ExprCall, scope: usize, depth: usize, found: &mut Vec<String>) {
        let argument = |at: usize| call.arguments.args.get(at);
        let text = |at: usize| argument(at).and_then(|a| self.text(a, scope, depth));
        for function in self.paths(&call.func, scope, depth) {
            match function.as_str() {
                "builtins.__import__" | "importlib.import_module" | "importlib.__import__" => {
                    text(0).into_iter().for_each(|module| push(found, module));
                }
                "builtins.getattr" => {
                    if let (Some(object), Some(name)) = (argument(0), text(1)) {
                        for base in self.paths(object, scope, depth) {
                            push(found, member(&base, &name));
                        }
                    }
                }
                "builtins.vars" => {
                    for base in argument(0).map(|a| self.paths(a, scope, depth)).unwrap_or_default()
                    {
                        push(found, member(&base, "__dict__"));
                    }
                }
                "builtins.globals" | "builtins.locals" => push(found, GLOBALS.to_owned()),
                _ => {}
            }
        }
        match &*call.func {
            // `vars(os).get("system")` and the like.
            Expr::Attribute(method)
                if matches!(
                    method.attr.as_str(),
                    "get" | "__getitem__" | "pop" | "__getattribute__"
                ) =>
            {
                let Some(name) = text(0) else { return };
                for base in self.paths(&method.value, scope, depth) {
                    if method.attr.as_str() == "__getattribute__" {
                        push(found, member(&base, &name));
                    } else {
                        self.item(&base, &name, scope, depth, found);
                    }
                }
            }
            // `operator.attrgetter("system")(os)`
            Expr::Call(inner) => {
                let getter = self.paths(&inner.func, scope, depth);
                let name = inner.arguments.args.first().and_then(|a| self.text(a, scope, depth));
                if let (true, Some(name), Some(object)) =
                    (getter.iter().any(|path| path == "operator.attrgetter"), name, argument(0))
                {
                    for base in self.paths(object, scope, depth) {
                        push(found, member(&base, &name));
                    }
                }
            }
            _ => {}
        }
    }

    fn subscript(
        &self,
        subscript: &ExprSubscript,
        scope: usize,
        depth: usize,
        found: &mut Vec<String>,
    ) {
        let Some(name) = self.text(&subscript.slice, scope, depth) else { return };
        for base in self.paths(&subscript.value, scope, depth) {
            self.item(&base, &name, scope, depth, found);
        }
    }

    /// What a dictionary of names has under a name.
    fn item(&self, base: &str, name: &str, scope: usize, depth: usize, found: &mut Vec<String>) {
        if base == GLOBALS && depth < DEEPEST {
            self.name(name, scope, depth + 1, found);
        } else if base == "sys.modules" {
            push(found, name.to_owned());
        } else if base == "builtins" {
            push(found, member(base, name));
        } else if let Some(object) = base.strip_suffix(".__dict__") {
            push(found, member(object, name));
        }
    }

    /// A text that is known without running anything.
    fn text(&self, expr: &Expr, scope: usize, depth: usize) -> Option<String> {
        if !self.step(depth) {
            return None;
        }
        let depth = depth + 1;
        let text = match expr {
            Expr::StringLiteral(literal) => literal.value.to_str().to_owned(),
            Expr::BytesLiteral(literal) => {
                String::from_utf8(literal.value.bytes().take(LONGEST_TEXT + 1).collect()).ok()?
            }
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                let left = self.text(&sum.left, scope, depth)?;
                left + &self.text(&sum.right, scope, depth)?
            }
            Expr::FString(literal) => {
                let mut whole = String::new();
                for element in literal.value.elements() {
                    match element {
                        InterpolatedStringElement::Literal(part) => whole.push_str(&part.value),
                        InterpolatedStringElement::Interpolation(part) => {
                            whole.push_str(&self.text(&part.expression, scope, depth)?);
                        }
                    }
                }
                whole
            }
            Expr::Subscript(part) => {
                let Expr::Slice(slice) = &*part.slice else { return None };
                let backwards = matches!(slice.step.as_deref(), Some(Expr::UnaryOp(step))
                    if matches!(&*step.operand, Expr::NumberLiteral(one) if one.value.as_int().is_some_and(|i| *i == 1)));
                if slice.lower.is_some() || slice.upper.is_some() || !backwards {
                    return None;
                }
                self.text(&part.value, scope, depth)?.chars().rev().collect()
            }
            Expr::Call(call) => self.called_text(call, scope, depth)?,
            Expr::Name(name) => {
                let meaning = self.scopes.meaning(&name.id, scope);
                meaning.bound.iter().find_map(|bound| match bound {
                    Bound::Value(value, seen_from) => self.text(value, *seen_from, depth),
                    _ => None,
                })?
            }
            _ => return None,
        };
        (text.len() <= LONGEST_TEXT).then_some(text)
    }

    fn called_text(&self, call: &ExprCall, scope: usize, depth: usize) -> Option<String> {
        let argument = |at: usize| call.arguments.args.get(at);
        let text = |at: usize| argument(at).and_then(|a| self.text(a, scope, depth));
        if let Expr::Attribute(method) = &*call.func {
            let of = || self.text(&method.value, scope, depth);
            return match method.attr.as_str() {
                "join" => {
                    let parts = elements(argument(0)?)?.iter().take(LONGEST_TEXT);
                    let parts: Option<Vec<_>> = parts.map(|p| self.text(p, scope, depth)).collect();
                    Some(parts?.join(&of()?))
                }
                "lower" => Some(of()?.to_lowercase()),
                "upper" => Some(of()?.to_uppercase()),
                "strip" if argument(0).is_none() => Some(of()?.trim().to_owned()),
                "replace" => Some(of()?.replace(&text(0)?, &text(1)?)),
                "decode" => of(),
                _ => None,
            };
        }
        let is_chr = self.paths(&call.func, scope, depth).iter().any(|path| path == "builtins.chr");
        match argument(0)? {
            Expr::NumberLiteral(number) if is_chr => {
                let code = u32::try_from(number.value.as_int()?.as_i64()?).ok()?;
                char::from_u32(code).map(String::from)
            }
            _ => None,
        }
    }
}

fn member(base: &str, name: &str) -> String {
    format!("{base}.{name}")
}

fn push(found: &mut Vec<String>, path: String) {
    let fits = !path.is_empty() && path.len() <= LONGEST_PATH && found.len() < MOST_PATHS;
    // A module beside this one, which no rule speaks of; as text its path would be wrong, and hide what stands around it.
    let is_relative = path.starts_with('.');
    let plain = path.chars().all(|c| c.is_alphanumeric() || "._()".contains(c));
    if fits && plain && !is_relative && !found.contains(&path) {
        found.push(path);
    }
}
