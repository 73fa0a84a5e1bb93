//! The array IR: both front ends build it, and the interpreter runs it.
//!
//! # What a program is
//! A [`Program`] is a list of functions; a function calls only functions before it. A [`Function`] is two arenas:
//! variables and bodies. A variable is a parameter of a body or a statement: one operator applied to variables and
//! bodies (A-normal form: operands are variables, never expressions). A body is a list of parameters, a list of
//! statements and a result variable. Bodies occur only as arguments of operators: there are no function values.
//!
//! # Evaluation order and scope
//! Evaluation is strict. The statements of a body are evaluated in order, once for each run
//! of the body. A statement may use the parameters of its own body and of enclosing bodies, and the statements
//! before it in any of those. Handles therefore only point backwards: the operands of statement `v9` and
//! everything inside its bodies precede `v9`, and the variables of its bodies have numbers between the last
//! variable visible outside and `v9` itself. [`verify`] checks this once for the whole function.
//!
//! A body that runs once per element of a *sequence* may use from outside only variables of concrete type: a sequence is
//! traversed once.
//!
//! # Sizes
//! Every variable has a type, and every array in it a [`Size`]. A size may mention variables in scope, positions, and
//! size variables. A size variable is bound by the first variable (in arena order) whose type mentions it: a
//! parameter, whose argument determines its value, or a statement such as `filter`, whose result does. A size that
//! leaves its scope (the type of a body's result, seen from outside) is rewritten in terms of the position if it can be, and
//! otherwise becomes a new size variable with one more argument, the position: a jagged dimension.

mod attrs;
mod build;
mod copy;
mod ops;
mod parse;
mod print;
mod scalar_ops;
mod typing;
mod verify;

pub use attrs::*;
pub use build::{Builder, Mark};
pub use copy::{Copied, Copier, Refused, Rewrite, rewrite};
pub use ops::{Chapter, Op, OpInfo};
pub use parse::parse;
pub use scalar_ops::{BinOp, OperandClass, ResultClass, UnOp};
pub use typing::{Misfit, TypeError, Typer};
pub use verify::{VerifyError, verify};

use crate::entity::{Body, Func, Path, SizeVar, Var};
use crate::size::{Atom, Size};
use crate::types::Type;
use deckle_diag::Span;

/// A whole program: functions, each of which calls only earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The functions.
    pub funcs: Vec<Function>,
}

/// A function: its arenas. The body `^0` is its own; that body's parameters are the function's.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, unique in the program.
    pub name: String,
    /// The names of its parameters, for messages and for named arguments.
    pub param_names: Vec<String>,
    /// The span of its definition.
    pub span: Span,
    /// Size variables.
    pub sizes: Vec<SizeVarData>,
    /// The source names of some of them, for messages.
    pub size_names: Vec<(SizeVar, String)>,
    /// Variables.
    pub vars: Vec<VarData>,
    /// Bodies.
    pub bodies: Vec<BodyData>,
}

/// A size variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeVarData {
    /// The number of positions on which it depends.
    pub arity: u32,
    /// The variable whose type binds it.
    pub binder: Var,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct VarData {
    /// Its type.
    pub ty: Type,
    /// Its definition.
    pub def: Def,
    /// Its span in the source.
    pub span: Span,
    /// Its name in the source, for messages.
    pub name: Option<String>,
}

/// The definition of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Def {
    /// A parameter of a body, by number.
    Param(Body, u32),
    /// The result of a statement.
    Inst(Inst),
}

/// An operator applied to its operands and bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// The operator with its attributes.
    pub op: Op,
    /// Operands.
    pub args: Vec<Var>,
    /// Bodies.
    pub bodies: Vec<Body>,
}

/// Parameters, statements, and the result variable.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyData {
    /// The number of variables that existed when the body began: variables from this number on are inside.
    pub first: Var,
    /// Parameters.
    pub params: Vec<Var>,
    /// Statements in order.
    pub stmts: Vec<Var>,
    /// The result.
    pub result: Var,
}

/// Functions are compared by meaning: spans, and the source names of sizes and variables, are ignored.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.param_names == other.param_names
            && self.sizes == other.sizes
            && self.bodies == other.bodies
            && self.vars.len() == other.vars.len()
            && self.vars.iter().zip(&other.vars).all(|(a, b)| a.ty == b.ty && a.def == b.def)
    }
}

impl Program {
    /// The function with a given name.
    pub fn find(&self, name: &str) -> Option<Func> {
        self.funcs.iter().position(|f| f.name == name).map(|i| Func(i as u32))
    }
}

impl Function {
    /// Its own body.
    pub const ROOT: Body = Body(0);

    /// A variable's type.
    pub fn ty(&self, v: Var) -> &Type {
        &self.vars[v.index()].ty
    }

    /// A variable's span in the source.
    pub fn span(&self, v: Var) -> Span {
        self.vars[v.index()].span
    }

    /// A body.
    pub fn body(&self, b: Body) -> &BodyData {
        &self.bodies[b.index()]
    }

    /// The statement that defines a variable, if it is not a parameter.
    pub fn inst(&self, v: Var) -> Option<&Inst> {
        match &self.vars[v.index()].def {
            Def::Inst(inst) => Some(inst),
            Def::Param(..) => None,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &[Var] {
        &self.body(Self::ROOT).params
    }

    /// The type of the result.
    pub fn result_type(&self) -> &Type {
        self.ty(self.body(Self::ROOT).result)
    }

    /// Whether neither a parameter nor the result contains a sequence.
    pub fn is_concrete(&self) -> bool {
        self.result_type().is_concrete() && self.params().iter().all(|&p| self.ty(p).is_concrete())
    }

    /// The functions that it calls, each once.
    pub fn callees(&self) -> Vec<Func> {
        let mut list: Vec<Func> = Vec::new();
        for data in &self.vars {
            if let Def::Inst(Inst { op: Op::Call(f), .. }) = &data.def
                && !list.contains(f)
            {
                list.push(*f);
            }
        }
        list
    }

    /// The variables that a body, or a body inside it, uses from outside, each once, in order of first use.
    pub fn free_vars(&self, body: Body) -> Vec<Var> {
        let first = self.body(body).first;
        let mut free = Vec::new();
        let mut pending = vec![body];
        while let Some(b) = pending.pop() {
            let data = self.body(b);
            let mut note = |v: Var| {
                if v < first && !free.contains(&v) {
                    free.push(v);
                }
            };
            for &s in &data.stmts {
                if let Some(inst) = self.inst(s) {
                    inst.args.iter().for_each(|&a| note(a));
                    pending.extend(&inst.bodies);
                }
            }
            note(data.result);
        }
        free
    }

    /// The types that are written in its statements, rather than inferred.
    pub fn written_types(&self) -> impl Iterator<Item = &Type> {
        self.vars.iter().filter_map(|v| match &v.def {
            Def::Inst(Inst { op: Op::Ensure(ty) | Op::Array(ty) | Op::MkSeq(ty), .. }) => Some(ty),
            _ => None,
        })
    }

    /// Whether a body, and those inside it, use a sequence only to pull elements at a position.
    pub fn only_pulls(&self, body: Body, v: Var) -> bool {
        let data = self.body(body);
        data.result != v
            && data.stmts.iter().filter_map(|s| self.inst(*s)).all(|inst| {
                let pulls = matches!(inst.op, Op::Pull(_)) && !inst.args[1..].contains(&v);
                (pulls || !inst.args.contains(&v)) && inst.bodies.iter().all(|b| self.only_pulls(*b, v))
            })
    }

    /// The shortest name of a variable's value: a projection is a path into what it projects from, and a projection
    /// from a tuple that the program constructs is the component itself.
    pub fn path(&self, v: Var) -> Path {
        match self.inst(v) {
            Some(Inst { op: Op::Proj(k), args, .. }) => self.component(self.path(args[0]), *k),
            Some(Inst { op: Op::Ensure(_), args, .. }) => self.path(args[0]),
            _ => v.into(),
        }
    }

    fn component(&self, path: Path, k: u32) -> Path {
        match (path.fields.is_empty(), self.inst(path.root)) {
            (true, Some(Inst { op: Op::Tuple | Op::Record(_), args, .. })) if (k as usize) < args.len() => {
                self.path(args[k as usize])
            }
            _ => path.field(k),
        }
    }

    /// The value of an `i64` variable as a size: constants, sums, products, lengths and reads are expanded as long as the result is
    /// small. A value that would be larger is an atom: the integer.
    pub fn size_of(&self, v: Var) -> Size {
        self.size_of_path(&self.path(v), &mut 32)
    }

    /// `fuel` is shared by everything that is expanded, so that an integer made by doubling thirty times costs thirty steps.
    fn size_of_path(&self, path: &Path, fuel: &mut u32) -> Size {
        const MAX_TERMS: usize = 16;
        let opaque = || Size::value(path.clone());
        let Some(inst) = self.inst(path.root) else { return opaque() };
        if *fuel == 0 {
            return opaque();
        }
        *fuel -= 1;
        let mut arg = |k: usize| self.size_of_path(&self.path(inst.args[k]), fuel);
        let size = match (path.fields.as_slice(), &inst.op) {
            ([k], Op::Shape(depth)) => match self.ty(inst.args[0]).regular_dims(*depth as usize) {
                Some(dims) => dims[*k as usize].clone(),
                None => opaque(),
            },
            ([], _) if *self.ty(path.root) != Type::INT => opaque(),
            ([], Op::Const(c)) => c.as_int().map_or_else(opaque, Size::constant),
            ([], Op::Binary(BinOp::Add)) => arg(0).add(&arg(1)),
            ([], Op::Binary(BinOp::Sub)) => arg(0).sub(&arg(1)),
            ([], Op::Binary(BinOp::Mul)) => arg(0).mul(&arg(1)),
            ([], Op::Binary(BinOp::Min)) => arg(0).lesser(&arg(1)),
            ([], Op::Binary(BinOp::Max)) => arg(0).greater(&arg(1)),
            ([], Op::Length) => self.ty(inst.args[0]).as_array().map_or_else(opaque, |a| a.size.clone()),
            ([], Op::Index) if inst.args.len() == 2 => {
                let at = arg(1);
                Atom::Read(self.path(inst.args[0]), vec![at]).into()
            }
            _ => opaque(),
        };
        if size.terms().len() > MAX_TERMS || size.terms().iter().any(|(m, _)| m.len() > MAX_TERMS) {
            opaque()
        } else {
            size
        }
    }

    /// Whether everything that a size mentions is visible outside the bodies that begin at `first`.
    pub fn visible(&self, size: &Size, first: Var, first_body: Body) -> bool {
        !size.any_atom(&mut |a, _| match a {
            Atom::At(b) => *b >= first_body,
            Atom::Var(s, _) => self.size_binder(*s).is_none_or(|b| b >= first),
            Atom::Value(p) | Atom::Read(p, _) | Atom::If(p, ..) => p.root >= first,
            _ => false,
        })
    }

    /// The variable that binds a size variable.
    pub fn size_binder(&self, s: SizeVar) -> Option<Var> {
        self.sizes.get(s.index()).map(|d| d.binder)
    }

    /// A size in source terms: names of sizes and parameters, numbers, `+` and `*`. `None` if it mentions anything else.
    pub fn readable(&self, size: &Size) -> Option<String> {
        size.spelled(&mut |a| match a {
            Atom::Var(s, at) if at.is_empty() => self.size_names.iter().find(|n| n.0 == *s).map(|n| n.1.clone()),
            Atom::Value(p) if p.fields.is_empty() => {
                let k = self.params().iter().position(|v| *v == p.root)?;
                self.param_names.get(k).cloned()
            }
            _ => None,
        })
    }
}
