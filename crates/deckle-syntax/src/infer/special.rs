//! Built-in functions whose type no signature can express: those that take literals, or work at any rank.

use super::Infer;
use super::env::DemandKind;
use super::expr::mismatch;
use super::types::Ty;
use crate::ast::{ExprId, ExprKind, Name};
use crate::builtins::Builtin;
use deckle_diag::{Code, Diagnostic, Span};

impl Infer {
    pub(super) fn special(&mut self, form: &Builtin, args: &[ExprId], span: Span) -> Ty {
        let arity = match form.name {
            "shape" | "elements" | "shapes" => 1..=1,
            "reverse" | "transpose" => 2..=2,
            "reshape" => 2..=4,
            "concat_on" | "fold_all" => 3..=3,
            "stencil" => 4..=4,
            "permute" => 4..=5,
            "scatter" => 3..=4,
            _ => 5..=5,
        };
        if !arity.contains(&args.len()) {
            let readable = args.iter().all(|a| !matches!(self.ast()[*a].kind, ExprKind::Error));
            if readable {
                let d = Diagnostic::new(
                    Code::WrongArity,
                    format!("`{}` does not take {}", form.name, super::call::count(args.len())),
                    span,
                    "called here",
                );
                let forms = crate::builtins::lookup(form.name);
                self.diags.push(forms.iter().fold(d, |d, f| d.note(super::sig::usage(f))));
            }
            return self.facts.types.error;
        }
        let name = Name { text: form.name.into(), span };
        match form.name {
            "shape" => {
                let array = self.expr(args[0]);
                let result = self.facts.types.fresh();
                self.demand(DemandKind::Shape(array, result), self.span(args[0]));
                result
            }
            "shapes" => {
                let elem = self.streamed(args[0]);
                let result = self.facts.types.fresh();
                self.demand(DemandKind::Shape(elem, result), self.span(args[0]));
                self.facts.types.seq(result)
            }
            "elements" => {
                let elem = self.streamed(args[0]);
                let base = self.facts.types.fresh();
                self.demand(DemandKind::Base(elem, base), self.span(args[0]));
                self.facts.types.array(base)
            }
            "reshape" => {
                let array = self.expr(args[0]);
                let base = self.facts.types.fresh();
                self.demand(DemandKind::Base(array, base), self.span(args[0]));
                args[1..].iter().for_each(|n| self.want_int(*n));
                args[1..].iter().fold(base, |t, _| self.facts.types.array(t))
            }
            "fold_all" => {
                let (z, array) = (self.expr(args[1]), self.expr(args[2]));
                self.demand(DemandKind::Base(array, z), self.span(args[2]));
                self.function(args[0], &[z, z], z, &name);
                z
            }
            "concat_on" => {
                let axis = self.literal_axis(args[0], form.name);
                let (a, b) = (self.expr(args[1]), self.expr(args[2]));
                self.rank(args[1], a, axis + 1);
                self.expect(args[2], b, a, |have, want| {
                    mismatch(format!("`concat_on` needs two arrays of one type: {want} and {have}"))
                });
                a
            }
            "reverse" => {
                let axis = self.literal_axis(args[1], form.name);
                let a = self.expr(args[0]);
                self.rank(args[0], a, axis + 1);
                a
            }
            "pad_on" => {
                let axis = self.literal_axis(args[0], form.name);
                self.want_int(args[1]);
                self.want_int(args[2]);
                let (x, a) = (self.expr(args[3]), self.expr(args[4]));
                let elem = self.rank(args[4], a, axis + 1);
                self.expect(args[3], x, elem, |have, want| mismatch(format!("the padding must be {want}, not {have}")));
                a
            }
            "transpose" => {
                let Some(axes) = self.literal_tuple(args[1], "the axes of `transpose`") else {
                    self.expr(args[0]);
                    return self.facts.types.error;
                };
                let mut sorted = axes.clone();
                sorted.sort_unstable();
                if axes.is_empty() || axes.len() > 8 || sorted.iter().enumerate().any(|(i, a)| i as u64 != *a) {
                    let d = Diagnostic::new(
                        Code::NotConstant,
                        "the axes must name each axis once",
                        self.span(args[1]),
                        "these axes",
                    )
                    .help("for example `transpose(a, (1, 0))`");
                    self.diags.push(d);
                }
                let a = self.expr(args[0]);
                self.rank(args[0], a, axes.len());
                a
            }
            "permute" | "scatter" => self.scattering(form, args, &name),
            "stencil" => self.stencil(args, &name),
            _ => self.facts.types.error,
        }
    }

    fn scattering(&mut self, form: &Builtin, args: &[ExprId], name: &Name) -> Ty {
        let combining = form.name == "permute";
        let rest = if combining { &args[1..] } else { args };
        let (into, targets, xs) = (self.expr(rest[0]), self.expr(rest[1]), self.expr(rest[2]));
        let (target, new) = (self.facts.types.fresh(), self.facts.types.fresh());
        let old = if combining { self.facts.types.fresh() } else { new };
        for (arg, have, elem, what) in [(rest[1], targets, target, "targets"), (rest[2], xs, new, "elements")] {
            let want = self.facts.types.array(elem);
            self.expect(arg, have, want, |have, _| {
                mismatch(format!("the {what} of `{}` must be a vector, not {have}", form.name))
            });
        }
        if let Some(&mask) = rest.get(3) {
            let have = self.expr(mask);
            let bool = self.facts.types.bool();
            let want = self.facts.types.array(bool);
            self.expect(mask, have, want, |have, _| {
                mismatch(format!("the mask must be a vector of `bool`, not {have}"))
            });
        }
        self.demand(DemandKind::Targets(into, target, old), self.span(rest[1]));
        if combining {
            self.function(args[0], &[new, old], old, name);
        }
        into
    }

    fn stencil(&mut self, args: &[ExprId], name: &Name) -> Ty {
        let Some(radii) = self.literal_tuple(args[0], "the radius of `stencil`") else {
            self.expr(args[3]);
            return self.facts.types.error;
        };
        if radii.is_empty() || radii.len() > 3 || radii.iter().any(|r| *r > 1000) {
            let d = Diagnostic::new(
                Code::NotConstant,
                "a stencil has one to three radii, each at most 1000",
                self.span(args[0]),
                "this radius",
            );
            self.diags.push(d);
            return self.facts.types.error;
        }
        let a = self.expr(args[3]);
        let elem = self.rank(args[3], a, radii.len().max(1));
        let int = self.facts.types.int();
        let indices = vec![int; radii.len().max(1)];
        match self.ast()[args[1]].kind.clone() {
            ExprKind::Name(n) if matches!(&*n.text, "clamp" | "mirror" | "wrap") => {}
            ExprKind::Call { func, args: inner }
                if matches!(&self.ast()[func].kind, ExprKind::Name(n) if &*n.text == "constant")
                    && inner.len() == 1 =>
            {
                let x = inner[0].value;
                let have = self.expr(x);
                self.expect(x, have, elem, |have, want| mismatch(format!("the boundary must be {want}, not {have}")));
            }
            ExprKind::Lambda { .. } => self.function(args[1], &indices, elem, name),
            ExprKind::Error => {}
            _ => {
                let d = Diagnostic::new(Code::NotConstant, "this is not a boundary", self.span(args[1]), "a boundary is needed here")
                    .help("write `clamp`, `mirror`, `wrap`, `constant(x)`, or a function of the indices such as `\\i j -> 0.0`");
                self.diags.push(d);
            }
        }
        let window = radii.iter().fold(elem, |t, _| self.facts.types.array(t));
        let result = self.facts.types.fresh();
        self.function(args[2], &[window], result, name);
        radii.iter().fold(result, |t, _| self.facts.types.array(t))
    }

    /// The element type of a sequence.
    fn streamed(&mut self, e: ExprId) -> Ty {
        let have = self.expr(e);
        let elem = self.facts.types.fresh();
        let want = self.facts.types.seq(elem);
        let before = self.diags.len();
        self.expect(e, have, want, |have, _| mismatch(format!("a sequence of arrays is needed, not {have}")));
        if self.diags.len() > before { self.facts.types.error } else { elem }
    }

    fn want_int(&mut self, e: ExprId) {
        let have = self.expr(e);
        let int = self.facts.types.int();
        self.expect(e, have, int, |have, _| mismatch(format!("a size must be an `int`, not {have}")));
    }

    /// Requires `rank` dimensions, and returns the type inside.
    fn rank(&mut self, e: ExprId, have: Ty, rank: usize) -> Ty {
        let inner = self.facts.types.fresh();
        let want = (0..rank).fold(inner, |t, _| self.facts.types.array(t));
        self.expect(e, have, want, |have, _| mismatch(format!("an array of {rank} dimensions is needed, not {have}")));
        inner
    }

    fn literal_axis(&mut self, e: ExprId, of: &str) -> usize {
        match self.literal_tuple(e, &format!("the axis of `{of}`")).as_deref() {
            Some([k]) if *k < 8 => *k as usize,
            None => 0,
            _ => {
                let d = Diagnostic::new(
                    Code::NotConstant,
                    "there is no such axis",
                    self.span(e),
                    "axes are counted from 0",
                );
                self.diags.push(d);
                0
            }
        }
    }

    /// An integer literal or a tuple of them.
    fn literal_tuple(&mut self, e: ExprId, what: &str) -> Option<Vec<u64>> {
        let items = match self.ast()[e].kind.clone() {
            ExprKind::Tuple(items) => items,
            _ => vec![e],
        };
        let mut out = Vec::new();
        for item in items {
            let ty = self.expr(item);
            let int = self.facts.types.int();
            let _ = self.facts.types.unify(ty, int);
            match self.ast()[item].kind {
                ExprKind::Int { value, .. } => out.push(value),
                ExprKind::Error => return None,
                _ => {
                    let d = Diagnostic::new(
                        Code::NotConstant,
                        format!("{what} must be written as a literal"),
                        self.span(item),
                        "not a literal",
                    )
                    .note("it decides the type of the result, so it must be known before running");
                    self.diags.push(d);
                    return None;
                }
            }
        }
        Some(out)
    }
}
