//! Built-in functions in terms of the operators of the IR.

use super::fault::Stop;
use super::func::{FnLower, Lowered};
use crate::ast::{ExprId, ExprKind};
use crate::builtins::Builtin;
use deckle_diag::Span;
use deckle_ir::array::{self, Boundary, Coll, Direction, Monoid, Op, ScanKind, SplitBy, UnOp};
use deckle_ir::entity::{Body, Var};
use deckle_ir::types::Type;

impl FnLower<'_> {
    /// A call of a built-in function, whose arguments may be functions.
    pub fn builtin(&mut self, e: ExprId, form: &Builtin, args: &[ExprId], span: Span) -> Lowered<Var> {
        match form.name {
            "stencil" => return self.stencil(args, span),
            "transpose" if args.len() == 2 => {
                let axes: Vec<u32> = self.literals(args[1]);
                let v = self.expr(args[0])?;
                let v = self.regular(v, axes.len(), span)?;
                return self.op(Op::Transpose(axes), &[v], span);
            }
            "reverse" if args.len() == 2 => {
                let axis = self.literals(args[1])[0];
                let v = self.expr(args[0])?;
                return self.op(Op::Reverse(axis), &[v], span);
            }
            "concat_on" => {
                let axis = self.literals(args[0])[0];
                let parts = [self.expr(args[1])?, self.expr(args[2])?];
                return self.op(Op::Concat(axis), &parts, span);
            }
            "pad_on" => {
                let axis = self.literals(args[0])[0];
                let v = args[1..].iter().map(|a| self.expr(*a)).collect::<Lowered<Vec<_>>>()?;
                self.need_flat(&self.ty(v[2]).clone(), span, "padding")?;
                return self.op(Op::Pad(axis), &[v[3], v[0], v[1], v[2]], span);
            }
            _ => {}
        }
        // The signature determines which arguments are functions; the values are evaluated first, in order.
        let functions: Vec<bool> = function_arguments(form, args.len());
        let mut values = Vec::new();
        let mut funcs = Vec::new();
        for (arg, is_func) in args.iter().zip(&functions) {
            if *is_func { funcs.push(*arg) } else { values.push(*arg) }
        }
        let values = self.exprs(&values)?;
        if funcs.is_empty() {
            return self.value_builtin(form, &values, Some(e), span);
        }
        self.higher(form, &funcs, &values, span)
    }

    fn higher(&mut self, form: &Builtin, fs: &[ExprId], v: &[Var], span: Span) -> Lowered<Var> {
        let f = fs[0];
        let folds = form.name.starts_with("fold") || form.name == "reduce" || form.name.contains("scan");
        if let (true, Some(elem)) = (folds, v.last().and_then(|xs| self.ty(*xs).elem())) {
            self.need_concrete(&elem.clone(), span, "what is combined")?;
        }
        match form.name {
            "generate" => {
                let made = self.with_body(Op::Generate, v, span, &mut |l, i| l.apply(f, i));
                made.map_err(|d| self.or_concrete(d, f))
            }
            "backpermute" => {
                let (sizes, xs) = (&v[..v.len() - 1], v[v.len() - 1]);
                self.with_body(Op::Generate, sizes, span, &mut |l, i| {
                    let at = l.apply(f, i)?;
                    let mut args = vec![xs];
                    if i.len() == 1 {
                        args.push(at);
                    } else {
                        for k in 0..i.len() as u32 {
                            args.push(l.proj(at, k, span)?);
                        }
                    }
                    l.op(Op::Index, &args, span)
                })
            }
            "map" | "zip_with" => self.map(v, span, &mut |l, x| l.apply(f, x)),
            "imap" => {
                let n = self.op(Op::Length, v, span)?;
                let i = self.op(Op::Iota(Coll::Array), &[n], span)?;
                self.map(&[i, v[0]], span, &mut |l, x| l.apply(f, x))
            }
            "filter" => self.filter(v[0], span, &mut |l, x| l.apply(f, &[x])),
            "partition" => self.with_body(Op::Partition, v, span, &mut |l, x| l.apply(f, x)),
            "expand" => {
                let size = self.body(&Op::Expand, v, 0, span, &mut |l, x| l.apply(f, x))?;
                let get = self.body(&Op::Expand, v, 1, span, &mut |l, x| l.apply(fs[1], x))?;
                self.push(Op::Expand, v, &[size, get], span)
            }
            "sort_by" | "group_by" => {
                let op = if form.name == "sort_by" { Op::SortBy } else { Op::GroupBy };
                let at = self.span(f);
                self.with_body(op, v, span, &mut |l, x| {
                    let key = l.apply(f, x)?;
                    l.need_flat(&l.ty(key).clone(), at, "a key")?;
                    Ok(key)
                })
            }
            "permute" => self.with_body(Op::Permute, v, span, &mut |l, x| l.apply(f, x)),
            "histogram" => {
                let into = self.op(Op::Replicate, &[v[0], v[1]], span)?;
                self.with_body(Op::Permute, &[into, v[2], v[3]], span, &mut |l, x| l.apply(f, x))
            }
            "fold" | "reduce" => self.with_body(Op::Fold, v, span, &mut |l, x| l.apply(f, x)),
            "fold1" => self.with_body(Op::Fold1, v, span, &mut |l, x| l.apply(f, x)),
            "fold_ordered" => self.with_body(Op::FoldOrdered, v, span, &mut |l, x| l.apply(f, x)),
            "scan_ordered" => self.with_body(Op::ScanOrdered, v, span, &mut |l, x| l.apply(f, x)),
            "fold_all" => {
                let flat = self.flat(v[1], span)?;
                self.with_body(Op::Fold, &[v[0], flat], span, &mut |l, x| l.apply(f, x))
            }
            "seg_fold" => {
                let rows = self.op(Op::Split(SplitBy::Lengths), &[v[1], v[2]], span)?;
                let z = v[0];
                self.map(&[rows], span, &mut |l, row| {
                    l.with_body(Op::Fold, &[z, row[0]], span, &mut |l, x| l.apply(f, x))
                })
            }
            "seg_scan" | "seg_scan_incl" => {
                let exclusive = form.name == "seg_scan";
                let (start, xs) = if exclusive { (Some(v[0]), &v[1..]) } else { (None, v) };
                let rows = self.op(Op::Split(SplitBy::Lengths), xs, span)?;
                let kind = if exclusive { ScanKind::Exclusive } else { ScanKind::Inclusive };
                let scanned = self.map(&[rows], span, &mut |l, row| {
                    let args: Vec<Var> = start.into_iter().chain([row[0]]).collect();
                    l.with_body(Op::Scan(Direction::Left, kind), &args, span, &mut |l, x| l.apply(f, x))
                })?;
                self.op(Op::Flatten, &[scanned], span)
            }
            "produce" => {
                let body = self.body(&Op::Produce, v, 0, span, &mut |l, x| l.apply(f, x))?;
                self.push(Op::Produce, v, &[body], span)
            }
            name => match scan_form(name) {
                Some((direction, kind)) => {
                    self.with_body(Op::Scan(direction, kind), v, span, &mut |l, x| l.apply(f, x))
                }
                None => Err(self.surprise(span)),
            },
        }
    }

    /// An error caused by a sequence in an array is reported as such.
    fn or_concrete(&self, d: Stop, f: ExprId) -> Stop {
        if let ExprKind::Lambda { body, .. } = &self.ast()[f].kind
            && let Err(better) = self.need_concrete(&self.kind_of(*body), self.span(*body), "an array")
        {
            return better;
        }
        d
    }

    /// A built-in function that takes only values. `at` is the call, if there is one.
    pub fn value_builtin(&mut self, form: &Builtin, v: &[Var], at: Option<ExprId>, span: Span) -> Lowered<Var> {
        let name = form.name;
        if let Some(op) = UnOp::from_name(name) {
            return self.op(Op::Unary(op), v, span);
        }
        if v.len() == 2
            && let Some(op) = array::BinOp::from_name(name)
        {
            return self.op(Op::Binary(op), v, span);
        }
        if v.len() == 1
            && let Some((m, _)) = Monoid::ALL.iter().find(|m| m.1 == name)
        {
            return self.op(Op::Reduce(*m), v, span);
        }
        if let Some(to) = crate::infer::annotate::scalar_type(name) {
            return self.op(Op::Cast(to), v, span);
        }
        match name {
            "unit" => {
                let elem = zeroed(self.ty(v[0]));
                self.need_concrete(&elem, span, "a vector")?;
                self.op(Op::Array(elem), v, span)
            }
            "fma" => self.op(Op::Fma, v, span),
            "fill" => {
                self.need_concrete(&self.ty(v[0]).clone(), self.argument_span(at, 0, span), "a vector")?;
                v[1..].iter().rev().try_fold(v[0], |x, n| self.op(Op::Replicate, &[x, *n], span))
            }
            "replicate" => {
                self.need_concrete(&self.ty(v[1]).clone(), self.argument_span(at, 1, span), "a vector")?;
                self.op(Op::Replicate, &[v[1], v[0]], span)
            }
            "iota" => {
                let seq = at.is_some_and(|e| self.kind_of(e).is_seq());
                self.op(Op::Iota(if seq { Coll::Seq } else { Coll::Array }), v, span)
            }
            "zip" => self.op(Op::Zip, v, span),
            "unzip" | "unzip3" => self.op(Op::Unzip, v, span),
            "select" => self.map(v, span, &mut |l, x| {
                if l.ty(x[1]).is_flat() {
                    return l.op(Op::Select, x, span);
                }
                let (yes, no) = (x[1], x[2]);
                l.branch(x[0], span, &mut |_| Ok(yes), &mut |_| Ok(no))
            }),
            "length" => self.op(Op::Length, v, span),
            "shape" => self.shape(v[0], span),
            "size" => {
                let depth = self.ty(v[0]).depth() as u32;
                self.op(Op::Size(depth), v, span)
            }
            "reshape" => {
                let depth = self.ty(v[0]).depth() as u32;
                self.op(Op::Reshape(depth), v, span)
            }
            "flatten" | "concat" => self.flatten(v[0], span),
            "append" => self.append(v[0], v[1], span),
            "split" => self.op(Op::Split(SplitBy::Lengths), v, span),
            "split_offsets" => self.op(Op::Split(SplitBy::Offsets), v, span),
            "transpose" => {
                let a = self.regular(v[0], 2, span)?;
                self.op(Op::Transpose(vec![1, 0]), &[a], span)
            }
            "reverse" => self.op(Op::Reverse(0), v, span),
            "take" => self.op(Op::Take, &[v[1], v[0]], span),
            "drop" => self.op(Op::Drop, &[v[1], v[0]], span),
            "init" => {
                let n = self.op(Op::Length, v, span)?;
                let (one, zero) = (self.int(1, span)?, self.int(0, span)?);
                let n = self.binary(array::BinOp::Sub, n, one, span)?;
                let n = self.binary(array::BinOp::Max, n, zero, span)?;
                self.op(Op::Take, &[v[0], n], span)
            }
            "tail" => {
                let one = self.int(1, span)?;
                self.op(Op::Drop, &[v[0], one], span)
            }
            "pad" => {
                self.need_flat(&self.ty(v[2]).clone(), span, "padding")?;
                self.op(Op::Pad(0), &[v[3], v[0], v[1], v[2]], span)
            }
            "gather" => self.map(&[v[1]], span, &mut |l, i| l.op(Op::Index, &[v[0], i[0]], span)),
            "scatter" => self.op(Op::Scatter, v, span),
            "compact" => self.op(Op::Compact, v, span),
            "sort" => {
                let elem = self.ty(v[0]).elem().cloned().unwrap_or(Type::INT);
                self.need_flat(&elem, self.argument_span(at, 0, span), "what is sorted")?;
                self.op(Op::Sort, v, span)
            }
            "sort_by_key" | "group_by_key" => self.by_key(name, v, span),
            "seg_sum" => {
                let rows = self.op(Op::Split(SplitBy::Lengths), v, span)?;
                self.map(&[rows], span, &mut |l, row| l.op(Op::Reduce(Monoid::Sum), row, span))
            }
            "empty" if !self.ty(v[0]).is_seq() => {
                let n = self.op(Op::Length, v, span)?;
                let zero = self.int(0, span)?;
                self.binary(array::BinOp::Eq, n, zero, span)
            }
            "empty" => self.op(Op::Empty, v, span),
            "the" => self.op(Op::The, v, span),
            "flagpart" => self.op(Op::FlagPart, v, span),
            "tab" => {
                let elem = self.ty(v[0]).elem().cloned().unwrap_or(Type::INT);
                self.need_concrete(&elem, self.argument_span(at, 0, span), "a vector")?;
                self.op(Op::Tab, v, span)
            }
            "seq" | "rows" => self.op(Op::Seq, v, span),
            "tiles" => {
                let depth = v.len() - 1;
                let a = self.regular(v[0], depth, span)?;
                let args: Vec<Var> = std::iter::once(a).chain(v[1..].iter().copied()).collect();
                self.op(Op::Tiles(depth as u32), &args, span)
            }
            "tabulate" => {
                let depth = self.ty(v[0]).elem().map_or(1, Type::depth) as u32;
                self.op(Op::Tabulate(depth), v, span)
            }
            "elements" => {
                let streams = self.map(v, span, &mut |l, a| {
                    let flat = l.flat(a[0], span)?;
                    l.op(Op::Seq, &[flat], span)
                })?;
                let all = self.op(Op::Flatten, &[streams], span)?;
                self.op(Op::Tab, &[all], span)
            }
            "shapes" => self.map(v, span, &mut |l, a| l.shape(a[0], span)),
            _ => Err(self.surprise(span)),
        }
    }

    /// All dimensions flattened to one.
    fn flat(&mut self, v: Var, span: Span) -> Lowered<Var> {
        (1..self.ty(v).depth()).try_fold(v, |v, _| self.op(Op::Flatten, &[v], span))
    }

    fn shape(&mut self, v: Var, span: Span) -> Lowered<Var> {
        match self.ty(v).depth() {
            1 => self.op(Op::Length, &[v], span),
            depth => {
                let v = self.regular(v, depth, span)?;
                self.op(Op::Shape(depth as u32), &[v], span)
            }
        }
    }

    fn by_key(&mut self, name: &str, v: &[Var], span: Span) -> Lowered<Var> {
        let pairs = self.op(Op::Zip, v, span)?;
        let key = self.ty(v[0]).elem().cloned().unwrap_or(Type::INT);
        self.need_flat(&key, span, "a key")?;
        if name == "sort_by_key" {
            let sorted = self.with_body(Op::SortBy, &[pairs], span, &mut |l, x| l.proj(x[0], 0, span))?;
            return self.map(&[sorted], span, &mut |l, x| l.proj(x[0], 1, span));
        }
        let groups = self.with_body(Op::GroupBy, &[pairs], span, &mut |l, x| l.proj(x[0], 0, span))?;
        self.map(&[groups], span, &mut |l, g| {
            let key = l.proj(g[0], 0, span)?;
            let members = l.proj(g[0], 1, span)?;
            let values = l.map(&[members], span, &mut |l, x| l.proj(x[0], 1, span))?;
            l.op(Op::Tuple, &[key, values], span)
        })
    }

    /// The integer literals of an argument; inference has checked them.
    fn literals(&self, e: ExprId) -> Vec<u32> {
        let one = |e: ExprId| match self.ast()[e].kind {
            ExprKind::Int { value, .. } => value as u32,
            _ => 0,
        };
        match &self.ast()[e].kind {
            ExprKind::Tuple(items) => items.iter().map(|e| one(*e)).collect(),
            _ => vec![one(e)],
        }
    }

    fn stencil(&mut self, args: &[ExprId], span: Span) -> Lowered<Var> {
        let radii = self.literals(args[0]);
        let a = self.expr(args[3])?;
        let a = self.regular(a, radii.len(), span)?;
        let elem = (0..radii.len()).try_fold(self.ty(a).clone(), |t, _| t.elem().cloned());
        self.need_flat(&elem.unwrap_or(Type::INT), self.span(args[3]), "what a stencil looks at")?;
        let mut operands = vec![a];
        let boundary = match self.ast()[args[1]].kind.clone() {
            ExprKind::Name(n) => Boundary::ALL.iter().find(|b| b.1 == &*n.text).map_or(Boundary::Clamp, |b| b.0),
            ExprKind::Call { args: inner, .. } => {
                operands.push(self.expr(inner[0].value)?);
                Boundary::Constant
            }
            _ => Boundary::Function,
        };
        let op = Op::Stencil(radii, boundary);
        let at = self.span(args[2]);
        let mut bodies: Vec<Body> = vec![self.body(&op, &operands, 0, span, &mut |l, w| {
            let x = l.apply(args[2], w)?;
            l.need_flat(&l.ty(x).clone(), at, "the result of a stencil")?;
            Ok(x)
        })?];
        if boundary == Boundary::Function {
            bodies.push(self.body(&op, &operands, 1, span, &mut |l, i| l.apply(args[1], i))?);
        }
        self.push(op, &operands, &bodies, span)
    }
}

/// Which arguments of a built-in function are functions.
fn function_arguments(form: &Builtin, n: usize) -> Vec<bool> {
    match form.name {
        "permute" | "fold_all" => (0..n).map(|k| k == 0).collect(),
        _ if form.signature == "special" => vec![false; n],
        _ => {
            let mut depth = 0;
            let params = form.signature.split("->").next().unwrap_or("").split(|c| {
                match c {
                    '(' | '[' | '{' | '<' => depth += 1,
                    ')' | ']' | '}' | '>' => depth -= 1,
                    _ => {}
                }
                c == ',' && depth == 0
            });
            params.map(|p| p.trim().starts_with("fn(")).collect()
        }
    }
}

fn scan_form(name: &str) -> Option<(Direction, ScanKind)> {
    Some(match name {
        "scan" => (Direction::Left, ScanKind::Exclusive),
        "scan_incl" => (Direction::Left, ScanKind::Inclusive),
        "scan_full" => (Direction::Left, ScanKind::Full),
        "scan_right" => (Direction::Right, ScanKind::Exclusive),
        "scan_incl_right" => (Direction::Right, ScanKind::Inclusive),
        "scan_full_right" => (Direction::Right, ScanKind::Full),
        _ => return None,
    })
}

/// A type with all sizes zero: the attribute of a literal.
fn zeroed(ty: &Type) -> Type {
    ty.map_sizes(&mut |_, _| deckle_ir::size::Size::constant(0))
}
