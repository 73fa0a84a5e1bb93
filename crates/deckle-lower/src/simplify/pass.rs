//! One round: rebuilds a function, statement by statement.
//!
//! The rules are applied to every statement with the new operands. The typing rules compute types
//! again; explicit types (in `ensure`, literals, and the state of loops) are expressed in terms of the new function.

use super::Branches;
use super::dead;
use super::same::Seen;
use deckle_analysis::bounds::Facts;
use deckle_diag::Span;
use deckle_ir::array::{Builder, Function, Inst, Op, Typer};
use deckle_ir::entity::{Body, Path, SizeVar, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

/// A function under construction.
pub(super) struct Pass<'a> {
    pub funcs: &'a [Function],
    /// The old function.
    pub old: &'a Function,
    /// Which statements of it must stay, and which cannot fail.
    pub dead: dead::Liveness,
    pub branches: Branches,
    pub b: Builder<'a>,
    /// Facts at the builder's position.
    pub facts: Facts,
    pub seen: Seen,
    /// The number of statements in each body of the old function.
    pub old_sizes: Vec<usize>,
    vars: Vec<Option<Var>>,
    bodies: Vec<Option<Body>>,
    sizes: Vec<Option<Size>>,
}

impl<'a> Pass<'a> {
    /// A round; `None` if the result would have no type, which happens if sizes that become known show that it must fail.
    pub fn run(funcs: &'a [Function], safe: &'a [bool], branches: Branches, old: &'a Function) -> Option<Function> {
        let mut pass = Pass {
            funcs,
            old,
            dead: dead::Liveness::of(safe, old),
            branches,
            b: Builder::new(funcs, old.name.clone(), old.span),
            facts: Facts::default(),
            seen: Seen::default(),
            old_sizes: super::same::sizes(old),
            vars: vec![None; old.vars.len()],
            bodies: vec![None; old.bodies.len()],
            sizes: vec![None; old.sizes.len()],
        };
        pass.bodies[0] = Some(Function::ROOT);
        for (&p, name) in old.params().iter().zip(&old.param_names) {
            pass.bind(p);
            let ty = pass.ty(old.ty(p))?;
            pass.vars[p.index()] = Some(pass.b.param(name.clone(), ty, old.span(p)));
        }
        pass.seen.enter();
        let result = pass.statements(Function::ROOT)?;
        for (size, name) in &old.size_names {
            if let Some(now) = pass.sizes[size.index()].as_ref().and_then(Size::as_var) {
                pass.b.name_size(now, name.clone());
            }
        }
        Some(pass.b.finish(result))
    }

    /// The new variable for an old one.
    pub fn var(&self, v: Var) -> Option<Var> {
        self.vars[v.index()]
    }

    /// The function so far.
    pub fn func(&self) -> &Function {
        self.b.func()
    }

    /// The statement that defines a variable of the new function.
    pub fn inst(&self, v: Var) -> Option<&Inst> {
        self.func().inst(v)
    }

    /// The value of a variable that is a constant.
    pub fn scalar(&self, v: Var) -> Option<Scalar> {
        match self.inst(v)?.op {
            Op::Const(c) => Some(c),
            _ => None,
        }
    }

    /// Copies the statements of a body into the open one, and returns its result.
    pub fn statements(&mut self, body: Body) -> Option<Var> {
        let old = self.old;
        stacker::maybe_grow(128 << 10, 2 << 20, || {
            for &s in &old.body(body).stmts {
                if self.dead.lives(s) {
                    self.statement(s)?;
                }
            }
            self.var(old.body(body).result)
        })
    }

    fn statement(&mut self, s: Var) -> Option<()> {
        let args = self.old.inst(s)?.args.iter().map(|v| self.var(*v)).collect::<Option<Vec<_>>>()?;
        self.statement_with(s, &args)
    }

    /// A statement of the old function with operands of the new one.
    pub fn statement_with(&mut self, s: Var, args: &[Var]) -> Option<()> {
        let old = self.old;
        let inst = old.inst(s)?;
        let span = old.span(s);
        if inst.op == Op::If
            && let Some(new) = self.conditional(s, args)?
        {
            return self.stand(s, new);
        }
        if inst.bodies.is_empty() {
            if matches!(inst.op, Op::Ensure(_)) {
                return self.ensure(s, args);
            }
            let op = self.op(&inst.op)?;
            let new = self.emit(op, args, span)?;
            return self.stand(s, new);
        }
        let looping = matches!(inst.op, Op::While | Op::For | Op::Stream);
        let mark = self.b.mark();
        let depth = self.facts.depth();
        let new = match self.with_bodies(s, args, looping) {
            None if looping => {
                self.b.rollback(&mark);
                self.facts.unwind(depth);
                self.seen.unwind(depth + 1);
                self.with_bodies(s, args, false)?
            }
            new => new?,
        };
        self.stand(s, new)
    }

    /// A statement with its bodies. If `keep`, the state of a loop keeps its sizes, otherwise these are unknown.
    fn with_bodies(&mut self, s: Var, args: &[Var], keep: bool) -> Option<Var> {
        let old = self.old;
        let inst = old.inst(s)?;
        let span = old.span(s);
        let op = self.op(&inst.op)?;
        let mark = self.b.mark();
        let mut bodies = Vec::new();
        for (which, &body) in inst.bodies.iter().enumerate() {
            let theirs = &old.body(body).params;
            let (new, params) = if keep {
                self.keep_state(theirs, span)?
            } else {
                self.b.begin_body_of(&op, args, which, span).ok()?
            };
            self.bodies[body.index()] = Some(new);
            if theirs.len() != params.len() {
                return None;
            }
            for (&p, &q) in theirs.iter().zip(&params) {
                self.stand(p, q)?;
            }
            self.facts.enter(new, &op, args, which);
            self.seen.enter();
            let result = self.statements(body)?;
            self.facts.leave();
            self.seen.leave();
            self.b.end_body(result);
            self.seen.measure(self.b.func(), new);
            bodies.push(new);
        }
        if let Some(same) = self.seen.find(self.func(), &op, args, &bodies) {
            self.b.rollback(&mark);
            return Some(same);
        }
        let new = self.b.push(op, args, &bodies, span).ok()?;
        self.facts.note(self.b.func(), new);
        self.seen.insert(self.b.func(), new);
        Some(new)
    }

    /// Opens a body of a loop whose state keeps its sizes.
    fn keep_state(&mut self, theirs: &[Var], span: Span) -> Option<(Body, Vec<Var>)> {
        let body = self.b.begin_body();
        let mut params = Vec::new();
        for &p in theirs {
            self.bind(p);
            let ty = self.ty(self.old.ty(p))?;
            params.push(self.b.body_param(ty, span));
        }
        Some((body, params))
    }

    /// A check that its type makes superfluous is removed.
    fn ensure(&mut self, s: Var, args: &[Var]) -> Option<()> {
        let Op::Ensure(ty) = &self.old.inst(s)?.op else { return None };
        let binds = self.old.sizes.iter().any(|d| d.binder == s);
        if !binds {
            let ty = self.ty(ty)?;
            let mut trusted = true;
            ty.for_each_size(&mut |s, _| trusted &= self.facts.trusted(self.b.func(), s));
            if trusted && ty == *self.b.ty(args[0]) {
                return self.stand(s, args[0]);
            }
        }
        let arg = if binds { self.as_told(s, args[0])? } else { args[0] };
        self.bind(s);
        let op = self.op(&self.old.inst(s)?.op)?;
        let new = self.b.push(op, &[arg], &[], self.old.span(s)).ok()?;
        self.facts.note(self.b.func(), new);
        self.stand(s, new)
    }

    /// The operand of a check, with a type that gives no size of rows that the program does not give.
    ///
    /// Rows of an empty array have the length that its type gives, or else 0. A constant found by folding would give it:
    /// such a size becomes one per row again.
    fn as_told(&mut self, s: Var, arg: Var) -> Option<Var> {
        let was = self.old.ty(*self.old.inst(s)?.args.first()?);
        let mut varied = Vec::new();
        was.for_each_size(&mut |size, depth| varied.push(size.varies(depth)));
        let mut varied = varied.into_iter();
        let (b, mut found) = (&mut self.b, false);
        let ty = b.ty(arg).clone().map_sizes(&mut |size, depth| {
            if varied.next() == Some(true) && !size.varies(depth) {
                found = true;
                family(b.new_size(depth), depth)
            } else {
                size.clone()
            }
        });
        if found { self.b.push(Op::Ensure(ty), &[arg], &[], self.old.span(s)).ok() } else { Some(arg) }
    }

    /// A statement without bodies: its replacement by the rules, or an equal existing one, or itself.
    pub fn emit(&mut self, op: Op, args: &[Var], span: Span) -> Option<Var> {
        if let Some(new) = self.rewritten(&op, args, span) {
            return Some(new);
        }
        if let Some(same) = self.seen.find(self.func(), &op, args, &[]) {
            return Some(same);
        }
        let new = self.b.push(op, args, &[], span).ok()?;
        self.facts.note(self.b.func(), new);
        self.seen.insert(self.b.func(), new);
        Some(new)
    }

    /// A constant.
    pub fn constant(&mut self, c: Scalar, span: Span) -> Option<Var> {
        self.emit(Op::Const(c), &[], span)
    }

    fn rewritten(&mut self, op: &Op, args: &[Var], span: Span) -> Option<Var> {
        self.scalar_rule(op, args, span)
            .or_else(|| self.index_rule(op, args, span))
            .or_else(|| self.shape_rule(op, args, span))
    }

    /// Whether a variable may replace a statement: its type has the same sizes except the outermost.
    pub fn may_stand(&self, v: Var, op: &Op, args: &[Var]) -> bool {
        self.type_of(op, args).is_some_and(|ty| alike(self.b.ty(v), &ty))
    }

    /// Whether one operator may replace another, likewise.
    pub fn may_be(&self, op: &Op, args: &[Var], new: &Op, new_args: &[Var]) -> bool {
        match (self.type_of(op, args), self.type_of(new, new_args)) {
            (Some(was), Some(is)) => alike(&was, &is),
            _ => false,
        }
    }

    /// The type of a statement without bodies, if it has one.
    pub fn type_of(&self, op: &Op, args: &[Var]) -> Option<Type> {
        let inst = Inst { op: op.clone(), args: args.to_vec(), bodies: Vec::new() };
        Typer::new(self.funcs, self.func()).check(&inst).ok()
    }

    /// Lets a variable replace one of the old function, and the sizes of its type those that the old one binds.
    pub fn stand(&mut self, was: Var, is: Var) -> Option<()> {
        self.vars[was.index()] = Some(is);
        if let Some(name) = &self.old.vars[was.index()].name {
            self.b.name(is, name);
        }
        let (old, new) = (self.old.ty(was), self.b.func().ty(is));
        if !self.old.sizes.iter().any(|d| d.binder == was) || !old.same_kind(new) {
            return Some(());
        }
        let mut list = Vec::new();
        new.for_each_size(&mut |s, _| list.push(s.clone()));
        let mut list = list.into_iter();
        let mut learned = Vec::new();
        old.for_each_size(&mut |s, depth| {
            let Some(now) = list.next() else { return };
            let Some((v, at, extra)) = s.determines() else { return };
            if self.old.size_binder(v) == Some(was)
                && let Some(size) = family_of(&now.sub(&Size::constant(extra)), at, depth)
            {
                learned.push((v, size));
            }
        });
        for (v, size) in learned {
            self.sizes[v.index()] = Some(size);
        }
        Some(())
    }

    /// Creates the size variables that `v` binds, for an explicit type.
    fn bind(&mut self, v: Var) {
        for (k, data) in self.old.sizes.iter().enumerate() {
            if data.binder == v {
                let new = self.b.new_size(data.arity);
                self.sizes[k] = Some(family(new, data.arity));
            }
        }
    }

    fn op(&self, op: &Op) -> Option<Op> {
        Some(match op {
            Op::Ensure(t) => Op::Ensure(self.ty(t)?),
            Op::Array(t) => Op::Array(self.ty(t)?),
            Op::MkSeq(t) => Op::MkSeq(self.ty(t)?),
            other => other.clone(),
        })
    }

    /// A type of the old function in terms of the new one.
    fn ty(&self, ty: &Type) -> Option<Type> {
        let mut known = true;
        let new = ty.map_sizes(&mut |s, _| {
            s.rewrite(&mut |a, _| {
                let new: Option<Size> = match a {
                    Atom::Var(s, at) => self.sizes[s.index()].as_ref().map(|size| apply(size, at)),
                    Atom::Value(p) => self.path(p).map(|p| self.value(p)),
                    Atom::Read(p, at) => self.path(p).map(|p| Atom::Read(p, at.clone()).into()),
                    Atom::If(p, x, y) => self.path(p).map(|p| self.either(p, x, y)),
                    Atom::At(b) => self.bodies[b.index()].map(|b| Atom::At(b).into()),
                    _ => return None,
                };
                known &= new.is_some();
                new
            })
        });
        known.then_some(new)
    }

    fn path(&self, old: &Path) -> Option<Path> {
        let func = self.func();
        let start = func.path(self.var(old.root)?);
        Some(old.fields.iter().fold(start, |path, k| match func.inst(path.root) {
            Some(Inst { op: Op::Tuple | Op::Record(_), args, .. }) if path.fields.is_empty() => {
                func.path(args[*k as usize])
            }
            _ => path.field(*k),
        }))
    }

    fn value(&self, path: Path) -> Size {
        if path.fields.is_empty() { self.func().size_of(path.root) } else { Size::value(path) }
    }

    fn either(&self, cond: Path, yes: &Size, no: &Size) -> Size {
        match self.scalar(cond.root).filter(|_| cond.fields.is_empty()).and_then(Scalar::as_bool) {
            Some(true) => yes.clone(),
            Some(false) => no.clone(),
            None => Size::select(cond, yes, no),
        }
    }
}

/// Whether two types differ at most in their outermost sizes.
pub(super) fn alike(a: &Type, b: &Type) -> bool {
    let inner = |t: &Type| {
        let mut list = Vec::new();
        t.for_each_size(&mut |s, depth| list.push((depth > 0).then(|| s.clone())));
        list
    };
    a.same_kind(b) && inner(a) == inner(b)
}

fn family(s: SizeVar, arity: u32) -> Size {
    Atom::Var(s, (0..arity).rev().map(Size::pos).collect()).into()
}

/// The value of a size variable applied to `at` under `depth` binders, as a size under as many binders as it has arguments.
fn family_of(size: &Size, at: &[Size], depth: u32) -> Option<Size> {
    let around: Vec<Size> = (0..depth).rev().map(Size::pos).collect();
    match size.as_atom() {
        Some(Atom::Var(s, own)) if own == at => Some(family(*s, at.len() as u32)),
        _ if at == around => Some(size.clone()),
        _ if at.is_empty() && !size.varies(depth) => Some(size.shift(-(depth as i32))),
        _ => None,
    }
}

/// A size under as many binders as there are positions in `at`, at these.
fn apply(size: &Size, at: &[Size]) -> Size {
    let k = at.len() as u32;
    size.rewrite(&mut |a, d| match a {
        Atom::Pos(p) if *p >= d && *p - d < k => Some(at[(k - 1 - (*p - d)) as usize].shift(d as i32)),
        _ => None,
    })
}
