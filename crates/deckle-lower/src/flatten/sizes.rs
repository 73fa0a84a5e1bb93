//! Sizes of types: those of parameters, and those that are checked at run time.

use super::outside::is_pulled;
use super::value::Val;
use super::{Cx, Flattener, Frame, Res, Stuck, as_array, elem_of, parts_of};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::{BinOp, Function, Inst, Op};
use deckle_ir::entity::{Path, SizeVar, Var};
use deckle_ir::fault;
use deckle_ir::kernel::{Combine, Fault, FoldSpec, Node, ROOT, Rep, Rows, Space};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;
use std::collections::{HashMap, HashSet};

/// A size given by an array, or by the type of one.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// Negative if no row gives it.
    size: Node,
    /// Whether it is not negative, whatever the data: the size of a whole array, and of equal rows even if there are none.
    always: bool,
}

/// The size of a parameter, and its required value.
struct Compared {
    actual: Node,
    expected: Node,
    /// Whether it may be more.
    at_least: bool,
    /// The number of dimensions around it.
    nested: u32,
    name: String,
    /// The size as written in the source.
    written: Option<String>,
    /// The place of the parameter.
    span: Span,
}

/// A size variable to be found in an array.
struct Wanted<'a> {
    var: SizeVar,
    /// The positions at which it is wanted; at those that are not given, any row will do.
    at: &'a [Node],
    /// Whether only existing rows give it.
    by_rows: bool,
}

impl<'p> Flattener<'p> {
    /// Gives the parameters of the program their buffers.
    pub(super) fn parameters(&mut self, fx: &mut Frame<'p>) -> Res<()> {
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let mut known: Vec<(SizeVar, Node)> = Vec::new();
        let mut checks = Vec::new();
        for (i, p) in fx.function.params().to_vec().into_iter().enumerate() {
            let name = fx.function.param_names.get(i).cloned().unwrap_or_else(|| format!("{i}"));
            let ty = fx.function.ty(p).clone();
            if is_pulled(fx.function, p) {
                self.k.params.push(Rep::Tuple(Vec::new()));
                continue;
            }
            self.param = fx.function.span(p);
            let made = self.parameter(fx, &ty, 0, &name, &mut known, &mut checks);
            self.param = Span::NONE;
            let (given, used) = made?;
            self.k.params.push(given);
            self.in_memory(&used, one);
            fx.env[p.index()] = Some(self.kept_at(&used, zero, ROOT));
        }
        // Checked before anything runs.
        for Compared { actual, expected, at_least, nested, name, written, span } in checks {
            let ok = if at_least { self.ge(actual, expected) } else { self.eq(actual, expected) };
            let fault = Fault::Size(fault::argument(&name, &fx.function.name).into(), written);
            // All rows are of one size, so the first one is wrong.
            let operands = [vec![actual, expected], vec![zero; nested as usize]].concat();
            let n = self.check(ok, actual, fault, span, &operands, ROOT);
            self.pending.remove(&n);
            if n != actual {
                self.step(deckle_ir::kernel::Step::Check(n));
            }
        }
        self.check_parameters(fx)
    }

    /// Compares the parameters of the program with the sizes in their types other than numbers and names: lengths of rows that depend on data, or that two parameters
    /// share. Proofs of indices rely on them.
    fn check_parameters(&mut self, fx: &mut Frame<'p>) -> Res<()> {
        let types = || fx.function.params().iter().map(|p| fx.function.ty(*p));
        let mut uses: HashMap<SizeVar, usize> = HashMap::new();
        for ty in types() {
            ty.any_atom(&mut |atom, _| {
                if let Atom::Var(v, _) = atom {
                    *uses.entry(*v).or_default() += 1;
                }
                false
            });
        }
        let mut are_plain = true;
        for ty in types() {
            ty.for_each_size(&mut |size, _| {
                are_plain &= match size.determines() {
                    // Compared already, or, if each row has its own size, not compared at all.
                    Some((_, [], _)) => true,
                    Some((v, _, 0)) => uses.get(&v) == Some(&1),
                    _ => size.as_constant().is_some(),
                }
            });
        }
        if are_plain {
            return Ok(());
        }
        let (before, mut seen) = (self.pending.clone(), HashSet::new());
        for (i, p) in fx.function.params().to_vec().into_iter().enumerate() {
            if is_pulled(fx.function, p) {
                continue;
            }
            let (ty, val) = (fx.function.ty(p).clone(), self.get(fx, p)?);
            let name = fx.function.param_names.get(i).cloned().unwrap_or_else(|| format!("{i}"));
            let what = fault::argument(&name, &fx.function.name);
            let span = fx.function.span(p);
            self.compare(fx, &val, &ty, None, &mut Vec::new(), &mut seen, &what, span, (ROOT, ROOT))?;
        }
        self.make_checks(&before);
        Ok(())
    }

    /// A parameter as given, and as used: with the sizes that its type shares with others.
    fn parameter(
        &mut self,
        fx: &mut Frame<'p>,
        ty: &Type,
        nested: u32,
        name: &str,
        known: &mut Vec<(SizeVar, Node)>,
        checks: &mut Vec<Compared>,
    ) -> Res<(Rep, Rep)> {
        match ty {
            Type::Scalar(s) => {
                let buf = self.k.buf(*s, format!("`{name}`"));
                Ok((Rep::Scalar(buf), Rep::Scalar(buf)))
            }
            Type::Array(_) | Type::Seq(_) => {
                let elem = elem_of(ty)?;
                let equal = match ty {
                    Type::Array(a) => !a.size.varies(nested),
                    _ => nested == 0,
                };
                if !equal {
                    let offsets = self.k.buf(ScalarType::I64, format!("the list of offsets of `{name}`"));
                    let (given, used) = self.parameter(fx, elem, nested + 1, name, known, checks)?;
                    let rows = Rows::Offsets(offsets);
                    return Ok((Rep::Array(rows.clone(), Box::new(given)), Rep::Array(rows, Box::new(used))));
                }
                let size = self.k.buf(ScalarType::I64, format!("the size of `{name}`"));
                let zero = self.k.int(0);
                let actual = self.k.load(size, zero, ROOT);
                let mut shared = actual;
                if let Type::Array(a) = ty {
                    // The remainder for a new variable is not negative.
                    let least =
                        a.size.determines().filter(|(s, at, _)| at.is_empty() && !known.iter().any(|(v, _)| v == s));
                    let least = least.map_or(0, |(_, _, extra)| extra);
                    shared = self.shared_size(fx, &a.size, nested, actual, known)?;
                    let least = (least > 0).then(|| self.k.int(least as i64));
                    let compared = if shared != actual { Some((shared, false)) } else { least.map(|n| (n, true)) };
                    checks.extend(compared.map(|(expected, at_least)| {
                        let written = fx.function.readable(&a.size);
                        Compared {
                            actual,
                            expected,
                            at_least,
                            nested,
                            name: name.to_string(),
                            written,
                            span: self.param,
                        }
                    }));
                }
                let shared = self.without_end(shared);
                let (given, used) = self.parameter(fx, elem, nested + 1, name, known, checks)?;
                Ok((Rep::Array(Rows::Equal(actual), Box::new(given)), Rep::Array(Rows::Equal(shared), Box::new(used))))
            }
            _ => {
                let both = parts_of(ty)?.into_iter().map(|t| self.parameter(fx, t, nested, name, known, checks));
                let (given, used) = both.collect::<Res<Vec<_>>>()?.into_iter().unzip();
                Ok((Rep::Tuple(given), Rep::Tuple(used)))
            }
        }
    }

    fn shared_size(
        &mut self,
        fx: &mut Frame<'p>,
        size: &Size,
        nested: u32,
        actual: Node,
        known: &mut Vec<(SizeVar, Node)>,
    ) -> Res<Node> {
        if let Some((s, [], extra)) = size.determines() {
            if let Some((_, n)) = known.iter().find(|(v, _)| *v == s) {
                let extra = self.k.int(extra as i64);
                return Ok(self.add(*n, extra));
            }
            let less = self.k.int(extra as i64);
            let n = self.sub(actual, less);
            known.push((s, n));
            return Ok(actual);
        }
        let positions = vec![actual; nested as usize];
        // A size given by later parameters is compared when they are available.
        Ok(self.size_node(fx, size, &positions, ROOT)?.unwrap_or(actual))
    }

    /// Compares the arguments of a call with the sizes of its parameters: those that a type mentions again, or computes.
    ///
    /// The types of the callee hold for its body, and proofs of indices rely on them. So nothing of the body is computed before these checks are made.
    pub(super) fn check_arguments(&mut self, callee: &mut Frame<'p>, cx: &Cx<'p>) -> Res<()> {
        let before = self.pending.clone();
        let mut seen = HashSet::new();
        for (i, p) in callee.function.params().to_vec().into_iter().enumerate() {
            let name = callee.function.param_names.get(i).cloned().unwrap_or_else(|| format!("{i}"));
            let what = fault::argument(&name, &callee.function.name);
            let ty = callee.function.ty(p).clone();
            let val = self.get(callee, p)?;
            self.param = callee.function.span(p);
            let fits =
                self.compare(callee, &val, &ty, None, &mut Vec::new(), &mut seen, &what, cx.span, (cx.ctx, cx.ctx));
            self.param = Span::NONE;
            fits?;
        }
        self.make_checks(&before);
        Ok(())
    }

    pub(super) fn ensure(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, ty: &Type) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        fx.env[cx.v.index()] = Some(val.clone());
        let from = fx.function.ty(cx.inst.args[0]).clone();
        // Sizes bound elsewhere are known.
        let mut seen: HashSet<SizeVar> = (0..fx.function.sizes.len())
            .map(|i| SizeVar(i as u32))
            .filter(|s| fx.function.size_binder(*s) != Some(cx.v))
            .collect();
        let (ctx, before) = (cx.ctx, self.pending.clone());
        self.compare(fx, &val, ty, Some(&from), &mut Vec::new(), &mut seen, fault::VALUE, cx.span, (ctx, ctx))?;
        self.make_checks(&before);
        Ok(val)
    }

    /// Compares the sizes of a value with those of a type. A size variable not seen yet takes the value found here, for all rows alike.
    #[allow(clippy::too_many_arguments)]
    fn compare(
        &mut self,
        fx: &mut Frame<'p>,
        val: &Val,
        ty: &Type,
        from: Option<&Type>,
        positions: &mut Vec<Node>,
        seen: &mut HashSet<SizeVar>,
        what: &str,
        span: Span,
        (base, ctx): (Space, Space),
    ) -> Res<()> {
        match (val, ty) {
            (Val::Tuple(parts), _) => {
                let (tys, froms) = (parts_of(ty)?, from.and_then(|f| f.parts()));
                for (i, (p, t)) in parts.iter().zip(tys).enumerate() {
                    let from = froms.as_ref().map(|f| f[i]);
                    self.compare(fx, p, t, from, positions, seen, what, span, (base, ctx))?;
                }
                Ok(())
            }
            (Val::Array(arr), Type::Array(a)) => {
                let same = matches!(from, Some(Type::Array(b)) if b.size == a.size);
                let deeper = !a.elem.is_flat();
                let (new, family, extra) = match a.size.determines() {
                    Some((s, at, extra)) => {
                        (seen.insert(s) && (at.is_empty() || !positions.is_empty()), !at.is_empty(), extra)
                    }
                    None => (false, false, 0),
                };
                let is_typed = |s: SizeVar| fx.typed.iter().flatten().any(|(v, _)| *v == s);
                let in_rows = !positions.is_empty();
                // The rows are compared with the size from a type, not with each other.
                let typed = in_rows && a.size.determines().is_some_and(|(s, _, _)| is_typed(s));
                let new = new && !typed;
                let regular = new && !family && in_rows;
                let fault = Fault::Size(what.to_string().into(), fx.function.readable(&a.size));
                if !same && new && extra > 0 {
                    // The remainder for the variable is not negative.
                    let arr = self.indexed(arr)?;
                    let (actual, least) = (self.size(&arr, ctx)?, self.k.int(extra as i64));
                    let ok = self.ge(actual, least);
                    let operands = [&[actual, least], &positions[..]].concat();
                    self.check_at(ok, actual, fault.clone(), span, &operands, ctx);
                }
                if !(same || new && (family || !regular)) {
                    let arr = self.indexed(arr)?;
                    let actual = self.size(&arr, ctx)?;
                    if regular {
                        if !self.k.encloses(self.k.space_of(actual), base) {
                            self.equal_in_all(actual, positions, ctx, what, span, base)?;
                        }
                    } else {
                        let expected = self.size_node(fx, &a.size, positions, ctx)?.ok_or_else(|| {
                            let message = format!("flatten: {what} is of a size that cannot be computed here");
                            Stuck::Limit(Box::new(Diagnostic::new(Code::Internal, message, span, "here")))
                        })?;
                        let ok = self.eq(actual, expected);
                        // `n + 1` is never smaller than 1, which is reported first.
                        let least = self.k.int(a.size.determines().map_or(0, |(_, _, extra)| extra as i64));
                        let enough = self.ge(actual, least);
                        let expected = self.k.select(enough, expected, least);
                        let operands = [&[actual, expected], &positions[..]].concat();
                        self.check_at(ok, actual, fault, span, &operands, ctx);
                    }
                }
                if !deeper {
                    return Ok(());
                }
                let arr = self.indexed(arr)?;
                let walk = self.walk(&arr, ctx)?;
                positions.push(self.k.pos(walk.inner));
                let from = from.and_then(|f| f.elem());
                let result =
                    self.compare(fx, &walk.elem, &a.elem, from, positions, seen, what, span, (base, walk.inner));
                positions.pop();
                result
            }
            (Val::Array(arr), Type::Seq(elem)) if !elem.is_flat() => {
                let mut walk = self.walk(arr, ctx)?;
                let pos = match self.position(ctx, walk.inner) {
                    Some(pos) => pos,
                    None if elem.any_atom(&mut |a, depth| matches!(a, Atom::Pos(p) if *p == depth)) => {
                        let arr = self.indexed(arr)?;
                        walk = self.walk(&arr, ctx)?;
                        self.k.pos(walk.inner)
                    }
                    // No size uses it.
                    None => self.k.int(0),
                };
                positions.push(pos);
                let from = from.and_then(|f| f.elem());
                let place = (base, walk.inner);
                let result = self.compare(fx, &walk.elem, elem, from, positions, seen, what, span, place);
                positions.pop();
                result
            }
            _ => Ok(()),
        }
    }

    /// A size as a node. `None` if it mentions a value that is not known here.
    pub(super) fn size_node(
        &mut self,
        fx: &Frame<'p>,
        size: &Size,
        positions: &[Node],
        ctx: Space,
    ) -> Res<Option<Node>> {
        self.size_of(fx, size, positions, ctx, &mut None)
    }

    /// A size computed from the program, with or without rows: size variables are 0 if no array gives them, and a size is 0 if it reads an element that does not exist.
    pub(super) fn told_size(&mut self, fx: &Frame<'p>, size: &Size, ctx: Space) -> Res<Option<Node>> {
        let (mut there, zero) = (Some(Vec::new()), self.k.int(0));
        let Some(told) = self.size_of(fx, size, &[], ctx, &mut there)? else { return Ok(None) };
        let told = there.into_iter().flatten().fold(told, |n, ok| self.k.select(ok, n, zero));
        // The host may use it, and runs no loops: the maximum over rows of different lengths is one.
        let told = if ctx == ROOT { self.on_hand(Val::Scalar(told))?.scalar()? } else { told };
        Ok(Some(told))
    }

    /// A size as a node. With `there`, elements that it reads need not exist: a condition is added that tests it.
    fn size_of(
        &mut self,
        fx: &Frame<'p>,
        size: &Size,
        positions: &[Node],
        ctx: Space,
        there: &mut Option<Vec<Node>>,
    ) -> Res<Option<Node>> {
        let mut terms = Vec::new();
        for (atoms, c) in size.terms() {
            let Ok(c) = i64::try_from(*c) else { return Ok(None) };
            let mut factors = Vec::new();
            for a in atoms {
                let Some(n) = self.atom_node(fx, a, positions, ctx, there)? else { return Ok(None) };
                factors.push(n);
            }
            terms.push((c, factors));
        }
        Ok(Some(self.polynomial(&terms)))
    }

    /// Computes a value from an element of a vector, 0 if that does not exist, and whether it exists if this is not known.
    fn element_if(
        &mut self,
        val: Option<Val>,
        at: &[Node],
        ctx: Space,
        make: impl FnOnce(&mut Self, Space) -> Res<Option<Node>>,
    ) -> Res<Option<(Node, Option<Node>)>> {
        let (Some(Val::Array(arr)), [at]) = (val, at) else { return Ok(None) };
        let arr = self.indexed(&arr)?;
        let (n, zero) = (self.size(&arr, ctx)?, self.k.int(0));
        let (low, high) = (self.ge(*at, zero), self.lt(*at, n));
        let ok = self.and(low, high);
        if self.k.as_const(ok) == Some(Scalar::Bool(true)) {
            return Ok(make(self, ctx)?.map(|n| (n, None)));
        }
        let inside = self.k.guard(ctx, ok, true);
        let made = make(self, inside)?;
        Ok(made.map(|n| (self.branch(ctx, ok, true, &[n], &[zero])[0], Some(ok))))
    }

    fn sizes_of(
        &mut self,
        fx: &Frame<'p>,
        sizes: &[Size],
        positions: &[Node],
        ctx: Space,
        there: &mut Option<Vec<Node>>,
    ) -> Res<Option<Vec<Node>>> {
        sizes.iter().map(|s| self.size_of(fx, s, positions, ctx, there)).collect()
    }

    fn atom_node(
        &mut self,
        fx: &Frame<'p>,
        atom: &Atom,
        positions: &[Node],
        ctx: Space,
        there: &mut Option<Vec<Node>>,
    ) -> Res<Option<Node>> {
        Ok(match atom {
            Atom::Pos(p) => positions.iter().rev().nth(*p as usize).copied(),
            Atom::At(body) => fx.at.get(body).copied(),
            Atom::Value(path) => self.path_val(fx, path).and_then(|v| v.leaves()).map(|l| l[0]),
            Atom::Var(s, args) => match self.sizes_of(fx, args, positions, ctx, there)? {
                Some(at) if at.is_empty() || there.is_none() => self.variable_size(fx, *s, &at, ctx)?,
                Some(at) => {
                    let binder = fx.function.size_binder(*s);
                    let val = binder.and_then(|v| showing(fx.env[v.index()].as_ref()?, fx.function.ty(v), *s));
                    let size = self.element_if(val, &at, ctx, |f, inside| f.variable_size(fx, *s, &at, inside))?;
                    size.map(|(n, _)| n)
                }
                None => None,
            },
            Atom::Read(path, args) => {
                let (Some(val), Some(at)) = (self.path_val(fx, path), self.sizes_of(fx, args, positions, ctx, there)?)
                else {
                    return Ok(None);
                };
                let read = |f: &mut Self, inside: Space| -> Res<Option<Node>> {
                    let elem = at.iter().try_fold(val.clone(), |v, i| f.at(&as_array(&v)?, *i, inside))?;
                    Ok(elem.leaves().map(|l| l[0]))
                };
                match there {
                    None => read(self, ctx)?,
                    Some(there) => self.element_if(Some(val.clone()), &at, ctx, read)?.map(|(n, ok)| {
                        there.extend(ok);
                        n
                    }),
                }
            }
            Atom::Min(list) | Atom::Max(list) => {
                let op = if matches!(atom, Atom::Min(_)) { BinOp::Min } else { BinOp::Max };
                let nodes = self.sizes_of(fx, list, positions, ctx, there)?;
                nodes.and_then(|nodes| nodes.into_iter().reduce(|a, b| self.k.binary(op, a, b)))
            }
            Atom::If(path, yes, no) => {
                let cond = self.path_val(fx, path).and_then(|v| v.leaves()).map(|l| l[0]);
                let yes = self.size_of(fx, yes, positions, ctx, there)?;
                let no = self.size_of(fx, no, positions, ctx, there)?;
                cond.zip(yes.zip(no)).map(|(c, (yes, no))| self.k.select(c, yes, no))
            }
            Atom::Div(a, b) => {
                let a = self.size_of(fx, a, positions, ctx, there)?;
                let b = self.size_of(fx, b, positions, ctx, there)?;
                a.zip(b).map(|(a, b)| self.quotient(a, b))
            }
            Atom::Sum(count, body) => {
                let Some(n) = self.size_of(fx, count, positions, ctx, there)? else { return Ok(None) };
                let dim = self.k.dim(ctx, n);
                let mut inner = positions.to_vec();
                inner.push(self.k.pos(dim));
                let mut summed = there.as_ref().map(|_| Vec::new());
                let Some(term) = self.size_of(fx, body, &inner, dim, &mut summed)? else { return Ok(None) };
                if let Some(there) = there {
                    for ok in summed.into_iter().flatten() {
                        there.push(self.holds_everywhere(ok, dim, ctx)?);
                    }
                }
                Some(self.saturating_sum(dim, term, ctx)?)
            }
            Atom::Log(_) | Atom::Most(..) => None,
        })
    }

    /// Whether a condition holds at all points of a space.
    fn holds_everywhere(&mut self, ok: Node, over: Space, ctx: Space) -> Res<Node> {
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let fails = self.k.select(ok, zero, one);
        let failures = self.saturating_sum(over, fails, ctx)?;
        Ok(self.k.binary(BinOp::Eq, failures, zero))
    }

    /// The quotient, rounded down, for a positive divisor.
    fn quotient(&mut self, a: Node, b: Node) -> Node {
        let (q, r) = (self.k.binary(BinOp::Div, a, b), self.k.binary(BinOp::Rem, a, b));
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let below = self.lt(r, zero);
        let less = self.sub(q, one);
        self.k.select(below, less, q)
    }

    fn path_val(&self, fx: &Frame<'p>, path: &Path) -> Option<Val> {
        let mut val = fx.env[path.root.index()].clone()?;
        for k in &path.fields {
            let Val::Tuple(parts) = &val else { return None };
            val = parts.get(*k as usize)?.clone();
        }
        Some(val)
    }

    /// A size variable at positions: the size of the array that binds it.
    ///
    /// Missing rows give no size. The size of a parameter of a called function is then given by the type of an argument, or by the next argument that
    /// determines it; otherwise it is 0.
    fn variable_size(&mut self, fx: &Frame<'p>, s: SizeVar, at: &[Node], ctx: Space) -> Res<Option<Node>> {
        let Some(binder) = fx.function.size_binder(s) else { return Ok(None) };
        let Some(first) = self.shown_size(fx, binder, s, at, ctx)? else { return Ok(None) };
        // The host has completed the sizes of the arguments of a program.
        let completed =
            fx.typed.is_none() && self.k.space_of(first.size) == ROOT && fx.function.params().contains(&binder);
        if first.always || completed || !at.is_empty() {
            return Ok(Some(first.size));
        }
        let zero = self.k.int(0);
        let params = fx.function.params();
        let mut all: Vec<Shown> = Vec::new();
        match &fx.typed {
            Some(typed) if params.contains(&binder) => {
                all.extend(typed.iter().filter(|(v, _)| *v == s).map(|(_, shown)| *shown));
                all.push(first);
                for p in params.iter().filter(|p| **p != binder) {
                    all.extend(self.shown_size(fx, *p, s, at, ctx)?.map(|shown| Shown { always: false, ..shown }));
                }
            }
            _ => all.push(first),
        }
        let mut size = zero;
        for shown in all.into_iter().rev() {
            size = if shown.always {
                shown.size
            } else if size == zero {
                self.max(shown.size, zero)
            } else {
                let is_there = self.ge(shown.size, zero);
                self.k.select(is_there, shown.size, size)
            };
        }
        Ok(Some(size))
    }

    fn shown_size(&mut self, fx: &Frame<'p>, v: Var, s: SizeVar, at: &[Node], ctx: Space) -> Res<Option<Shown>> {
        let Some(val) = fx.env[v.index()].clone() else { return Ok(None) };
        // If the type of the ensured value does not determine the size, rows do, and without rows it is unknown.
        let by_rows = match fx.function.inst(v) {
            Some(Inst { op: Op::Ensure(ty), args, .. }) => {
                !ty.told_by(fx.function.ty(args[0])).iter().any(|(told, _, _)| *told == s)
            }
            _ => false,
        };
        self.find_size(&val, &fx.function.ty(v).clone(), &Wanted { var: s, at, by_rows }, 0, ctx)
    }

    /// The sizes of the parameters of a function that the types of the arguments of a call determine.
    pub(super) fn typed_sizes(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, callee: &Function) -> Res<Vec<(SizeVar, Shown)>> {
        let args = cx.inst.args.iter().map(|arg| fx.function.ty(*arg));
        let told = callee.params().iter().zip(args).flat_map(|(p, arg)| callee.ty(*p).told_by(arg));
        let mut typed = Vec::new();
        for (s, extra, size) in told {
            if let Some(size) = self.told_size(fx, &size, cx.ctx)? {
                let less = self.k.int(extra as i64);
                typed.push((s, Shown { size: self.sub(size, less), always: extra == 0 }));
            }
        }
        Ok(typed)
    }

    /// The place where an array of a type has a size variable as its size.
    fn find_size(&mut self, val: &Val, ty: &Type, wanted: &Wanted<'_>, nested: u32, ctx: Space) -> Res<Option<Shown>> {
        match (val, ty) {
            (Val::Array(arr), Type::Array(_) | Type::Seq(_)) => {
                if let Type::Array(a) = ty
                    && let Some((v, _, extra)) = a.size.determines()
                    && v == wanted.var
                {
                    let arr = self.indexed(arr)?;
                    let n = self.size(&arr, ctx)?;
                    let equal = extra == 0 && self.k.space_of(n) == ROOT && !wanted.by_rows;
                    let extra = self.k.int(extra as i64);
                    return Ok(Some(Shown { size: self.sub(n, extra), always: nested == 0 || equal }));
                }
                let elem_ty = elem_of(ty)?;
                if !elem_ty.any_atom(&mut |atom, _| matches!(atom, Atom::Var(v, _) if *v == wanted.var)) {
                    return Ok(None);
                }
                if let Some(index) = wanted.at.get(nested as usize) {
                    let arr = self.indexed(arr)?;
                    let elem = self.at(&arr, *index, ctx)?;
                    return self.find_size(&elem, elem_ty, wanted, nested + 1, ctx);
                }
                // Equal in all rows, so the maximum is that of any.
                let walk = self.walk(arr, ctx)?;
                let Some(row) = self.find_size(&walk.elem, elem_ty, wanted, nested + 1, walk.inner)? else {
                    return Ok(None);
                };
                if !wanted.by_rows && self.k.encloses(self.k.space_of(row.size), ctx) {
                    return Ok(Some(row));
                }
                let none = self.k.int(-1);
                if self.k.encloses(self.k.space_of(row.size), ctx) && self.k.between(ctx, walk.inner).len() == 1 {
                    // The same in all rows, if there are any.
                    let (rows, zero) = (self.dim_size(walk.inner)?, self.k.int(0));
                    let any = self.k.binary(BinOp::Lt, zero, rows);
                    return Ok(Some(Shown { size: self.k.select(any, row.size, none), always: false }));
                }
                let (init, elems) = (Some(vec![none]), vec![row.size]);
                let spec = FoldSpec { init, elems, combine: Combine::Ops(vec![BinOp::Max]) };
                Ok(Some(Shown { size: self.fold(walk.inner, spec, ctx, &[0])?[0], always: false }))
            }
            (Val::Tuple(parts), _) => {
                let mut found: Option<Shown> = None;
                for (p, t) in parts.iter().zip(parts_of(ty)?) {
                    let Some(next) = self.find_size(p, t, wanted, nested, ctx)? else { continue };
                    // If one component has no rows, the next one gives the size.
                    let shown = match found {
                        Some(Shown { size, .. }) => {
                            let (zero, always) = (self.k.int(0), next.always);
                            let is_there = self.ge(size, zero);
                            Shown { size: self.k.select(is_there, size, next.size), always }
                        }
                        None => next,
                    };
                    if shown.always || !wanted.at.is_empty() {
                        return Ok(Some(shown));
                    }
                    found = Some(shown);
                }
                Ok(found)
            }
            _ => Ok(None),
        }
    }
}

/// The array of a value whose rows give a size variable.
fn showing(val: &Val, ty: &Type, s: SizeVar) -> Option<Val> {
    match val {
        Val::Tuple(parts) => parts.iter().zip(ty.parts()?).find_map(|(val, ty)| showing(val, ty, s)),
        Val::Array(_) => {
            let shows = ty.any_atom(&mut |atom, _| matches!(atom, Atom::Var(v, _) if *v == s));
            shows.then(|| val.clone())
        }
        Val::Scalar(_) => None,
    }
}
