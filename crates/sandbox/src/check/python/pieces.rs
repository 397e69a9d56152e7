//! The parts of a program that a rule could speak of, with names as what they stand for.
//!
//! A grammar that repairs errors is slow, and most of a program is of no interest. So only statements and
//! expressions that have a rule's word in them, or a name that stands for one, go on to it.

use std::ops::Range;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt as _};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprContext, Stmt};
use ruff_text_size::Ranged;

use super::super::resolved::{Edit, Resolved};
use super::meaning;
use super::scope::Scopes;
use super::words::{Hits, Interest, Words};

/// Pieces may grow when names are replaced; this much, and then it is enough.
const GROWTH: usize = 4;
const MOST_MIXED: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) resolved: Resolved,
    /// Bytes of the longest.
    pub(super) longest: usize,
    /// It became too much, and is not all.
    pub(super) is_cut: bool,
    /// Names with letters of several scripts.
    pub(super) mixed: Vec<Range<usize>>,
}

/// The pieces of a module. Scopes are met in the order in which [`Scopes::of`] met them.
pub(super) fn pieces(source: &str, body: &[Stmt], scopes: &Scopes<'_>, words: &Words) -> Pieces {
    let mut cutter = Cutter {
        source,
        scopes,
        words,
        hits: words.hits(source),
        known: vec![HashMap::new()],
        out: Pieces::default(),
        scope: Scopes::MODULE,
        met: Scopes::MODULE,
        open: None,
        most: source.len() * GROWTH + (1 << 20),
    };
    cutter.visit_body(body);
    cutter.out
}

struct Cutter<'s, 'a> {
    source: &'s str,
    scopes: &'s Scopes<'a>,
    words: &'s Words,
    hits: Hits,
    /// What names were found to stand for in the scopes that we are in. A scope's are forgotten with it: it is met once.
    known: Vec<HashMap<&'s str, Known>>,
    out: Pieces,
    scope: usize,
    /// The last scope that was met.
    met: usize,
    open: Option<Open>,
    most: usize,
}

/// What a name stands for in a scope.
#[derive(Debug, Clone)]
struct Known {
    paths: Rc<[String]>,
    interest: Interest,
}

/// A part of the source, and the paths that may stand there instead.
type Noted = (Range<usize>, Rc<[String]>);

/// A piece that is being read.
#[derive(Debug, Default)]
struct Open {
    names: Vec<Noted>,
    folds: Vec<Noted>,
    interest: Interest,
    has_text: bool,
}

impl Open {
    fn is_interesting(&self) -> bool {
        self.interest == Interest::Sure || (self.interest == Interest::BesideText && self.has_text)
    }
}

impl<'s: 's> Cutter<'s, '_> {
    fn piece(&mut self, range: Range<usize>, brackets: [&str; 2], walk: impl FnOnce(&mut Self)) {
        if self.out.is_cut {
            return;
        }
        let is_sure = self.hits.any_sure_in(&range);
        let interest = if is_sure { Interest::Sure } else { Interest::None };
        self.open = Some(Open { interest, ..Open::default() });
        walk(self);
        let Some(open) = self.open.take().filter(Open::is_interesting) else { return };
        let most = |all: &[Noted]| all.iter().map(|(_, paths)| paths.len()).max().unwrap_or(0);
        for variant in 0..most(&open.names).max(1) {
            self.emit(&range, brackets, &edits(&open.names, variant));
        }
        for variant in 0..most(&open.folds) {
            // What is folded covers the names in it.
            let mut folds = edits(&open.folds, variant);
            folds.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
            let mut end = 0;
            folds.retain(|edit| {
                edit.range.start >= end && {
                    end = edit.range.end;
                    true
                }
            });
            let mut all = edits(&open.names, 0);
            all.retain(|name| {
                !folds.iter().any(|fold| {
                    fold.range.start <= name.range.start && name.range.end <= fold.range.end
                })
            });
            all.extend(folds);
            self.emit(&range, brackets, &all);
        }
    }

    fn emit(&mut self, range: &Range<usize>, brackets: [&str; 2], edits: &[Edit]) {
        if self.out.resolved.text().len() > self.most {
            self.out.is_cut = true;
            return;
        }
        let mut edits = edits.to_vec();
        edits.sort_by_key(|edit| edit.range.start);
        let resolved = &mut self.out.resolved;
        let before = resolved.text().len();
        resolved.replace(range.start..range.start, brackets[0]);
        resolved.piece(self.source, range.clone(), &edits);
        resolved.replace(range.end..range.end, brackets[1]);
        resolved.replace(range.end..range.end, "\n");
        self.out.longest = self.out.longest.max(resolved.text().len() - before);
    }

    fn line(&mut self, range: &Range<usize>, text: &str) {
        self.out.resolved.replace(range.clone(), text);
        self.out.resolved.replace(range.end..range.end, "\n");
    }

    /// A path may begin with a name, at `at`: of interest if a rule speaks of such a path.
    fn begin(&mut self, at: usize, name: &str, paths: &[String]) {
        let Some(open) = self.open.as_mut().filter(|open| open.interest < Interest::Sure) else {
            return;
        };
        for word in self.hits.paths_from(at) {
            let first = paths.iter().filter_map(|path| path.split(['.', '(']).next());
            let may_begin = first.chain([name]).map(|name| self.words.may_begin(word, name));
            open.interest = open.interest.max(may_begin.max().unwrap_or_default());
        }
    }

    /// Whether paths are something else than what is written.
    fn is_news(&self, range: &Range<usize>, paths: &[String]) -> bool {
        match paths {
            [] => false,
            [path] => self.source[range.clone()] != **path,
            _ => true,
        }
    }

    fn note_name(&mut self, range: Range<usize>, known: Known) {
        if !self.is_news(&range, &known.paths) {
            return;
        }
        if let Some(open) = &mut self.open {
            open.interest = open.interest.max(known.interest);
            open.names.push((range, known.paths));
        }
    }

    fn note_fold(&mut self, range: Range<usize>, paths: Vec<String>) {
        if !self.is_news(&range, &paths) {
            return;
        }
        if let Some(open) = &mut self.open {
            let interest = paths.iter().map(|path| self.words.any_in_fold(path)).max();
            open.interest = open.interest.max(interest.unwrap_or_default());
            open.folds.push((range, paths.into()));
        }
    }

    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        self.met += 1;
        let outer = std::mem::replace(&mut self.scope, self.met);
        self.known.push(HashMap::new());
        walk(self);
        self.known.pop();
        self.scope = outer;
    }
}

fn edits(all: &[Noted], variant: usize) -> Vec<Edit> {
    let edit = |(range, paths): &Noted| {
        let text = paths.get(variant).or_else(|| paths.first())?.clone();
        Some(Edit { range: range.clone(), text })
    };
    all.iter().filter_map(edit).collect()
}

fn range(of: &impl Ranged) -> Range<usize> {
    of.range().to_std_range()
}

impl<'s, 'a> Visitor<'s> for Cutter<'s, 'a>
where
    'a: 's,
{
    fn visit_stmt(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    if self.words.any_in_import(&alias.name) {
                        self.line(&range(import), &format!("import {}", alias.name));
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_deref().unwrap_or_default();
                if import.level > 0 {
                    return;
                }
                for alias in &import.names {
                    let (range, name) = (range(import), alias.name.as_str());
                    let (words, path) = (self.words, format!("{module}.{name}"));
                    if words.any_in_import(&path) {
                        self.line(&range, &format!("from {module} import {name}"));
                    }
                    if name != "*" && words.any_in_path(&path) == Interest::Sure {
                        self.line(&range, &path);
                    }
                }
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                self.within(|this| visitor::walk_stmt(this, stmt));
            }
            Stmt::For(_)
            | Stmt::While(_)
            | Stmt::If(_)
            | Stmt::With(_)
            | Stmt::Match(_)
            | Stmt::Try(_) => {
                visitor::walk_stmt(self, stmt);
            }
            // Words about the program, which do nothing.
            Stmt::Expr(alone) if alone.value.is_string_literal_expr() => {}
            _ => self.piece(range(stmt), ["", ""], |this| visitor::walk_stmt(this, stmt)),
        }
    }

    fn visit_expr(&mut self, expr: &'s Expr) {
        if self.open.is_none() {
            // In brackets, because its lines may have been joined by some that are not part of it.
            return self.piece(range(expr), ["(", ")"], |this| this.visit_expr(expr));
        }
        match expr {
            Expr::Name(name) => {
                if self.source[range(name)] != *name.id.as_str() {
                    // Written in other letters that mean the same name.
                    self.out.mixed.push(range(name));
                }
                if is_mixed(&name.id) && self.out.mixed.len() < MOST_MIXED {
                    self.out.mixed.push(range(name));
                }
                if name.ctx == ExprContext::Load {
                    let mut known = self.known(&name.id);
                    if known.paths.is_empty() && self.source[range(name)] != *name.id.as_str() {
                        let path = name.id.to_string();
                        let interest = self.words.any_in_fold(&path);
                        known = Known { paths: [path].into(), interest };
                    }
                    self.begin(range(name).start, &name.id, &known.paths);
                    self.note_name(range(name), known);
                }
            }
            Expr::Call(_) | Expr::Subscript(_) if self.may_fold(expr) => {
                let paths = meaning::paths(self.scopes, expr, self.scope);
                let paths = paths.into_iter().filter(|path| !path.contains('(')).collect();
                self.note_fold(range(expr), paths);
            }
            Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::FString(_)
            | Expr::TString(_) => {
                if let Some(open) = &mut self.open {
                    open.has_text = true;
                    if self.hits.any_in_text(&range(expr)) {
                        open.interest = Interest::Sure;
                    }
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

impl<'s, 'a> Cutter<'s, 'a> {
    /// What a name stands for where we are, looked up once.
    fn known(&mut self, name: &'s str) -> Known {
        let (scopes, scope, words) = (self.scopes, self.scope, self.words);
        let find = || {
            let paths = meaning::name_paths(scopes, name, scope);
            let interest = paths.iter().map(|path| words.any_in_path(path)).max();
            Known { paths: paths.into(), interest: interest.unwrap_or_default() }
        };
        match self.known.last_mut() {
            None => find(),
            Some(known) => known.entry(name).or_insert_with(find).clone(),
        }
    }

    /// Whether a call or a subscript could stand for a name: most could not, and need not be looked into.
    fn may_fold(&mut self, expr: &'s Expr) -> bool {
        match expr {
            Expr::Call(call) => match &*call.func {
                Expr::Name(name) => {
                    self.known(&name.id).paths.iter().any(|path| meaning::leads_on(path))
                }
                Expr::Attribute(method) => meaning::leads_on(&method.attr),
                Expr::Lambda(_) => false,
                _ => true,
            },
            Expr::Subscript(part) => match &*part.value {
                Expr::Name(name) => !self.known(&name.id).paths.is_empty(),
                Expr::Attribute(of) => {
                    matches!(of.attr.as_str(), "modules" | "__dict__" | "__builtins__")
                }
                Expr::StringLiteral(_) | Expr::Tuple(_) | Expr::List(_) | Expr::Dict(_) => false,
                _ => true,
            },
            _ => false,
        }
    }
}

/// Letters of the Latin script beside letters that look like them.
fn is_mixed(name: &str) -> bool {
    let alike = |c: char| matches!(c, '\u{370}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}');
    !name.is_ascii() && name.chars().any(|c| c.is_ascii_alphabetic()) && name.chars().any(alike)
}
