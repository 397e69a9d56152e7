//! What names stand for: imports and assignments, scope by scope.
//!
//! [`Scopes::of`] reads a module once and notes what each name is bound to. Order is not followed: a name that is
//! assigned twice stands for both. A name of the module that is bound only under a condition may still be the
//! built-in one, so it stands for that too.

use foldhash::{HashMap, HashSet, HashSetExt as _};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Parameters, Stmt};

/// Built-in names that some rule speaks of.
const BUILTINS: &[&str] = &[
    "__build_class__",
    "__builtins__",
    "__import__",
    "__loader__",
    "__spec__",
    "breakpoint",
    "compile",
    "delattr",
    "eval",
    "exec",
    "exit",
    "getattr",
    "globals",
    "input",
    "locals",
    "memoryview",
    "open",
    "quit",
    "setattr",
    "vars",
    "chr",
    "type",
    "object",
    "dir",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Module,
    Function,
    Class,
}

/// One thing that a name is bound to.
#[derive(Debug, Clone)]
pub(super) enum Bound<'a> {
    /// A module, or a name in one.
    Path(String),
    /// The value of an expression, seen from the scope that it stands in.
    Value(&'a Expr, usize),
    /// One of the items of an expression.
    Item(&'a Expr, usize),
    Unknown,
}

/// A name of a scope. What it is bound to stands in [`Scopes::bound`], each with the place of the next.
#[derive(Debug, Default)]
struct Binding {
    first: Option<u32>,
    last: u32,
    /// How often it was bound, as far as that is counted.
    times: u8,
    /// Bound whatever happens.
    is_certain: bool,
}

/// More than these nobody follows; a name that is bound a million times stays cheap.
const MOST_BOUND: u8 = 8;

/// The names of a scope: most have few.
#[derive(Debug, Default)]
struct Names<'a> {
    all: Vec<(&'a str, Binding)>,
    /// Where each is, once there are many.
    places: Option<HashMap<&'a str, usize>>,
}

const FEW: usize = 12;

impl<'a> Names<'a> {
    fn place(&self, name: &str) -> Option<usize> {
        match &self.places {
            None => self.all.iter().position(|(known, _)| *known == name),
            Some(places) => places.get(name).copied(),
        }
    }

    fn get(&self, name: &str) -> Option<&Binding> {
        self.place(name).map(|place| &self.all[place].1)
    }

    /// After this it may not be bound.
    fn forget_certainty(&mut self, name: &str) {
        if let Some(place) = self.place(name) {
            self.all[place].1.is_certain = false;
        }
    }

    fn entry(&mut self, name: &'a str) -> &mut Binding {
        let place = self.place(name).unwrap_or_else(|| {
            let place = self.all.len();
            self.all.push((name, Binding::default()));
            if let Some(places) = &mut self.places {
                places.insert(name, place);
            } else if self.all.len() > FEW {
                let places = self.all.iter().enumerate().map(|(place, (name, _))| (*name, place));
                self.places = Some(places.collect());
            }
            place
        });
        &mut self.all[place].1
    }
}

#[derive(Debug)]
struct Scope<'a> {
    kind: Kind,
    parent: Option<usize>,
    names: Names<'a>,
    globals: HashSet<&'a str>,
}

/// A module that is imported somewhere.
#[derive(Debug)]
pub(super) struct Imported {
    pub(super) module: String,
    pub(super) range: ruff_text_size::TextRange,
}

#[derive(Debug)]
pub(super) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
    bound: Vec<(Bound<'a>, Option<u32>)>,
    stars: Vec<String>,
    pub(super) imported: Vec<Imported>,
}

/// What a name may be, as far as its scopes know.
#[derive(Debug, Default)]
pub(super) struct Meaning<'s, 'a> {
    pub(super) bound: Vec<&'s Bound<'a>>,
    pub(super) builtin: bool,
    /// Nothing in the file binds it.
    pub(super) is_free: bool,
}

impl<'a> Scopes<'a> {
    pub(super) const MODULE: usize = 0;

    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let module = Scope {
            kind: Kind::Module,
            parent: None,
            names: Names::default(),
            globals: HashSet::new(),
        };
        let scopes = Self {
            scopes: vec![module],
            bound: Vec::new(),
            stars: Vec::new(),
            imported: Vec::new(),
        };
        let mut collector = Collector { scopes, scope: Self::MODULE, conditions: 0 };
        collector.visit_body(body);
        collector.scopes
    }

    /// Modules of which everything was imported.
    pub(super) fn stars(&self) -> &[String] {
        &self.stars
    }

    pub(super) fn meaning(&self, name: &str, from: usize) -> Meaning<'_, 'a> {
        let mut meaning = Meaning { is_free: true, ..Meaning::default() };
        let mut at = Some(from);
        while let Some(index) = at {
            let scope = &self.scopes[index];
            at = scope.parent;
            if scope.kind == Kind::Class && index != from {
                continue;
            }
            if scope.globals.contains(name) {
                at = Some(Self::MODULE).filter(|module| *module != index);
                continue;
            }
            if let Some(binding) = scope.names.get(name) {
                meaning.is_free = false;
                meaning.bound.extend(self.bound_of(binding));
                if scope.kind == Kind::Function || binding.is_certain {
                    return meaning;
                }
            }
        }
        meaning.builtin = BUILTINS.contains(&name);
        meaning
    }

    fn bound_of(&self, binding: &Binding) -> impl Iterator<Item = &Bound<'a>> {
        let at = |place: u32| self.bound.get(usize::try_from(place).unwrap_or(usize::MAX));
        let first = binding.first.and_then(at);
        std::iter::successors(first, move |(_, next)| next.and_then(at)).map(|(bound, _)| bound)
    }

    /// Adds to what a name of a scope is bound to. That it is bound to something unknown says nothing more.
    fn bind(&mut self, scope: usize, name: &'a str, bound: Bound<'a>) -> &mut Binding {
        let binding = self.scopes[scope].names.entry(name);
        if binding.times < MOST_BOUND {
            binding.times += 1;
            if !matches!(bound, Bound::Unknown)
                && let Ok(place) = u32::try_from(self.bound.len())
            {
                let last = usize::try_from(binding.last).unwrap_or(usize::MAX);
                match self.bound.get_mut(last).filter(|_| binding.first.is_some()) {
                    Some((_, next)) => *next = Some(place),
                    None => binding.first = Some(place),
                }
                binding.last = place;
                self.bound.push((bound, None));
            }
        }
        binding
    }
}

struct Collector<'a> {
    scopes: Scopes<'a>,
    scope: usize,
    /// How many conditions stand around what is read now, within its scope.
    conditions: usize,
}

impl<'a> Collector<'a> {
    fn bind(&mut self, name: &'a str, bound: Bound<'a>) {
        let mut scope = self.scope;
        if self.scopes.scopes[scope].globals.contains(name) {
            scope = Scopes::MODULE;
        }
        let is_certain = self.conditions == 0 && scope == self.scope;
        self.scopes.bind(scope, name, bound).is_certain |= is_certain;
    }

    fn target(&mut self, target: &'a Expr, value: Option<&'a Expr>) {
        let scope = self.scope;
        match (target, value) {
            (Expr::Name(name), Some(value)) => self.bind(&name.id, Bound::Value(value, scope)),
            (Expr::Name(name), None) => self.bind(&name.id, Bound::Unknown),
            (Expr::Tuple(_) | Expr::List(_), _) => {
                let targets = elements(target).unwrap_or_default();
                let values =
                    value.and_then(elements).filter(|values| values.len() == targets.len());
                for (at, target) in targets.iter().enumerate() {
                    self.target(target, values.map(|values| &values[at]));
                }
            }
            (Expr::Starred(starred), _) => self.target(&starred.value, None),
            _ => {}
        }
    }

    fn items(&mut self, target: &'a Expr, iter: &'a Expr) {
        match target {
            Expr::Name(name) => self.bind(&name.id, Bound::Item(iter, self.scope)),
            _ => self.target(target, None),
        }
    }

    fn parameters(&mut self, parameters: &'a Parameters) {
        // A default is made where the function is defined, not in it.
        let outside = self.scopes.scopes[self.scope].parent.unwrap_or(self.scope);
        for parameter in parameters {
            let name = parameter.name().as_str();
            match parameter.default() {
                Some(default) => self.bind(name, Bound::Value(default, outside)),
                None => self.bind(name, Bound::Unknown),
            }
        }
    }

    fn inside(&mut self, kind: Kind, work: impl FnOnce(&mut Self)) {
        let parent = Some(self.scope);
        let scope = Scope { kind, parent, names: Names::default(), globals: HashSet::new() };
        self.scopes.scopes.push(scope);
        let outer = std::mem::replace(&mut self.scope, self.scopes.scopes.len() - 1);
        let conditions = std::mem::take(&mut self.conditions);
        work(self);
        (self.scope, self.conditions) = (outer, conditions);
    }

    fn import(&mut self, stmt: &'a ast::StmtImport) {
        for alias in &stmt.names {
            let module = alias.name.as_str();
            let range = stmt.range;
            self.scopes.imported.push(Imported { module: module.to_owned(), range });
            match &alias.asname {
                Some(name) => self.bind(name.as_str(), Bound::Path(module.to_owned())),
                None => {
                    let top = module.split('.').next().unwrap_or(module);
                    self.bind(top, Bound::Path(top.to_owned()));
                }
            }
        }
    }

    fn import_from(&mut self, stmt: &'a ast::StmtImportFrom) {
        let module = format!(
            "{}{}",
            ".".repeat(usize::try_from(stmt.level).unwrap_or(1).min(8)),
            stmt.module.as_deref().unwrap_or_default()
        );
        self.scopes.imported.push(Imported { module: module.clone(), range: stmt.range });
        for alias in &stmt.names {
            let name = alias.name.as_str();
            if name == "*" {
                if self.scopes.stars.len() < 4 {
                    self.scopes.stars.push(module.clone());
                }
                continue;
            }
            let path = Bound::Path(format!("{module}.{name}"));
            self.bind(alias.asname.as_ref().map_or(name, |alias| alias.as_str()), path);
        }
    }
}

impl<'a> Visitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => return self.import(import),
            Stmt::ImportFrom(import) => return self.import_from(import),
            Stmt::Global(global) => {
                let names = global.names.iter().map(|name| name.as_str());
                self.scopes.scopes[self.scope].globals.extend(names);
            }
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.target(target, Some(&assign.value)));
            }
            Stmt::AnnAssign(assign) if assign.value.is_some() => {
                self.target(&assign.target, assign.value.as_deref());
            }
            Stmt::AugAssign(assign) => {
                self.conditions += 1;
                self.target(&assign.target, None);
                self.conditions -= 1;
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    if let Expr::Name(name) = target {
                        self.scopes.scopes[self.scope].names.forget_certainty(&name.id);
                    }
                }
            }
            Stmt::FunctionDef(function) => {
                self.bind(function.name.as_str(), Bound::Unknown);
                return self.inside(Kind::Function, |this| {
                    this.parameters(&function.parameters);
                    visitor::walk_stmt(this, stmt);
                });
            }
            Stmt::ClassDef(class) => {
                self.bind(class.name.as_str(), Bound::Unknown);
                return self.inside(Kind::Class, |this| visitor::walk_stmt(this, stmt));
            }
            Stmt::For(looping) => {
                self.conditions += 1;
                self.items(&looping.target, &looping.iter);
                visitor::walk_stmt(self, stmt);
                self.conditions -= 1;
                return;
            }
            Stmt::If(_) | Stmt::While(_) | Stmt::Try(_) | Stmt::Match(_) | Stmt::With(_) => {
                self.conditions += 1;
                visitor::walk_stmt(self, stmt);
                self.conditions -= 1;
                return;
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.conditions += 1;
        match expr {
            Expr::Named(named) => self.target(&named.target, Some(&named.value)),
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.parameters(parameters);
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
        self.conditions -= 1;
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.items(&comprehension.target, &comprehension.iter);
        visitor::walk_comprehension(self, comprehension);
    }

    fn visit_with_item(&mut self, item: &'a ast::WithItem) {
        if let Some(target) = &item.optional_vars {
            self.target(target, None);
        }
        visitor::walk_with_item(self, item);
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name.as_str(), Bound::Unknown);
        }
        visitor::walk_except_handler(self, handler);
    }
}

/// The items of a tuple, a list or a set.
pub(super) fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        Expr::Set(set) => Some(&set.elts),
        _ => None,
    }
}
