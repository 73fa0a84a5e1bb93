//! Opaque data: every concrete value is a token, so that nothing can fail, and nondeterminism is drawn from a seed.
//!
//! Tokens are hashes of their computation: equal expressions of equal operands are equal, and so are the truth values of
//! equal conditions. Comparisons of the same two operands agree with one another: for every pair one
//! of `<`, `=` and `>` is drawn. Lengths of sequences are drawn from the token of the sequence, mostly the same for all.

use super::channel::Datum;
use super::net::{self, Data, Env, Given, Halt, Job, Part, Run};
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::{BinOp, Function, Op, Program, UnOp};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::types::Type;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// The remaining stack below which more is allocated before a body is run inside a run, and how much.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// A value known only by its origin. Tuples are those of their components, booleans are themselves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Token {
    Truth(bool),
    Atom(u64),
    Tuple(Rc<[Token]>),
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Datum for Token {
    fn tuple(parts: Vec<Token>) -> Token {
        Token::Tuple(parts.into())
    }

    fn sequence(elems: Vec<Token>) -> Token {
        Token::Atom(hash(("sequence", elems)))
    }

    fn parts(&self) -> Vec<Token> {
        match self {
            Token::Tuple(parts) => parts.to_vec(),
            _ => Vec::new(),
        }
    }

    fn boolean(b: bool) -> Token {
        Token::Truth(b)
    }

    fn truth(&self) -> bool {
        matches!(self, Token::Truth(true))
    }
}

/// The random choices of one trial.
pub(super) struct Opaque<'p> {
    program: &'p Program,
    seed: u64,
    /// The length of most sequences.
    common: u64,
    /// The number of true values among 256.
    truths: u64,
    steps: u64,
}

impl<'p> Opaque<'p> {
    pub(super) fn new(program: &'p Program, seed: u64, max_steps: u64) -> Self {
        let common = [1, 2, 3, 2, 4, 5, 6, 0][hash((seed, "length")) as usize % 8];
        let truths = [128, 128, 128, 64, 192, 20, 236, 256][hash((seed, "truths")) as usize % 8];
        Opaque { program, seed, common, truths, steps: max_steps }
    }

    /// Runs a function with opaque arguments.
    pub(super) fn run(&mut self, func: Func) -> Run<Token> {
        let function = &self.program.funcs[func.index()];
        let args = function.params().iter().map(|p| self.token(function.ty(*p), hash(("argument", p)))).collect();
        self.call(func, args)
    }

    fn call(&mut self, func: Func, args: Vec<Token>) -> Run<Token> {
        let params = self.program.funcs[func.index()].params();
        self.body((func, Function::ROOT), params.iter().copied().zip(args).collect())
    }

    fn body(&mut self, body: (Func, Body), bound: Vec<(Var, Token)>) -> Run<Token> {
        let (func, body) = body;
        let bound = bound.into_iter().map(|(v, token)| (v, Given::Value(token))).collect();
        let job = Job { func, body, bound, local: (), check: false, consumer: None };
        let result = stacker::maybe_grow(RED_ZONE, MORE_STACK, || net::run(self.program, self, job))?;
        result.ok_or(Halt::Abandoned)
    }

    /// The value of a type with origin `source`.
    fn token(&self, ty: &Type, source: u64) -> Token {
        match ty.parts() {
            Some(parts) => {
                Token::tuple(parts.iter().enumerate().map(|(k, t)| self.token(t, hash((source, k)))).collect())
            }
            None if *ty == Type::BOOL => Token::Truth(hash((self.seed, source)) % 256 < self.truths),
            None => Token::Atom(source),
        }
    }

    fn length(&self, seq: &Token) -> usize {
        let drawn = hash((self.seed, "length", seq));
        let own = if drawn.is_multiple_of(5) { (drawn >> 8) % 7 } else { self.common };
        own as usize
    }

    fn compare(&self, a: &Token, b: &Token) -> Ordering {
        match (a.cmp(b), hash((self.seed, a.min(b), a.max(b))) % 3) {
            (Ordering::Equal, _) | (_, 0) => Ordering::Equal,
            (way, 1) => way,
            (way, _) => way.reverse(),
        }
    }

    fn binary(&self, op: BinOp, a: &Token, b: &Token) -> Option<Token> {
        let both = match (a, b) {
            (Token::Truth(a), Token::Truth(b)) => Some((*a, *b)),
            _ => None,
        };
        let order = both.map_or_else(|| self.compare(a, b), |(a, b)| a.cmp(&b));
        Some(Token::Truth(match (op, both) {
            (BinOp::And, Some((a, b))) => a && b,
            (BinOp::Or, Some((a, b))) => a || b,
            (BinOp::Xor, Some((a, b))) => a != b,
            (BinOp::Eq, _) => order.is_eq(),
            (BinOp::Ne, _) => order.is_ne(),
            (BinOp::Lt, _) => order.is_lt(),
            (BinOp::Le, _) => order.is_le(),
            (BinOp::Gt, _) => order.is_gt(),
            (BinOp::Ge, _) => order.is_ge(),
            _ => return None,
        }))
    }

    /// Runs once each body of a statement, or the callee, that has sequences inside: it may get stuck.
    fn try_inside(&mut self, env: &Env<'p, Self>, v: Var, args: &[Token]) -> Run<()> {
        let function = env.function;
        let Some(inst) = function.inst(v) else { return Ok(()) };
        if let Op::Call(f) = inst.op
            && super::uses_sequences(self.program, &self.program.funcs[f.index()], Function::ROOT)
        {
            self.call(f, args.to_vec())?;
        }
        for &body in &inst.bodies {
            if !super::uses_sequences(self.program, function, body) {
                continue;
            }
            let params = function.body(body).params.iter();
            let params = params.map(|p| (*p, self.token(function.ty(*p), hash(("parameter", v, p, args)))));
            let free = function.free_vars(body).into_iter().filter_map(|v| env.value(v).map(|t| (v, t)));
            let bound = params.chain(free).collect();
            self.body((env.func, body), bound)?;
        }
        Ok(())
    }
}

impl<'p> Data<'p> for Opaque<'p> {
    type V = Token;
    type Local = ();
    type Fold = Vec<Token>;

    fn tick(&mut self, _: Span) -> Run<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Halt::Abandoned)?;
        Ok(())
    }

    fn apply(&mut self, env: &Rc<Env<'p, Self>>, v: Var, args: Vec<Token>) -> Run<Token> {
        let function = env.function;
        let Some(inst) = function.inst(v) else { return Err(Halt::Abandoned) };
        self.try_inside(env, v, &args)?;
        let known = match (&inst.op, args.as_slice()) {
            (Op::Const(c), _) => c.as_bool().map(Token::Truth).or_else(|| Some(constant(c))),
            (Op::Unary(UnOp::Not), [Token::Truth(b)]) => Some(Token::Truth(!b)),
            // A value that differs from itself is NaN.
            (Op::Binary(BinOp::Eq | BinOp::Ne), [a, b]) if a == b && is_float(function.ty(inst.args[0])) => {
                let number = !hash((self.seed, "nan", a)).is_multiple_of(3);
                Some(Token::Truth(number == (inst.op == Op::Binary(BinOp::Eq))))
            }
            (Op::Binary(op), [a, b]) => self.binary(*op, a, b),
            (Op::Select, [c, x, y]) => Some(if c.truth() { x.clone() } else { y.clone() }),
            (Op::Proj(k), [tuple]) => tuple.parts().get(*k as usize).cloned(),
            (Op::Tuple | Op::Record(_), _) => Some(Token::tuple(args.clone())),
            (Op::Ensure(_), [x]) => Some(x.clone()),
            _ => None,
        };
        if let Some(token) = known {
            return Ok(token);
        }
        let op = match &inst.op {
            Op::Use(_) => format!("{} {v}", env.func),
            op => format!("{op:?}"),
        };
        let free: Vec<Token> =
            inst.bodies.iter().flat_map(|b| function.free_vars(*b)).filter_map(|v| env.value(v)).collect();
        let bodies = if inst.bodies.is_empty() { None } else { Some((env.func, v)) };
        Ok(self.token(function.ty(v), hash((op, bodies.map(|(f, v)| (f.0, v.0)), args, free))))
    }

    fn combine(&mut self, env: &Rc<Env<'p, Self>>, v: Var, _: usize, args: [Token; 2]) -> Run<Token> {
        let Some(inst) = env.function.inst(v) else { return Err(Halt::Abandoned) };
        let elem = inst.args.last().and_then(|xs| env.function.ty(*xs).elem());
        Ok(elem.map_or(Token::Atom(0), |ty| self.token(ty, hash(("combine", v.0, &args)))))
    }

    fn begin(&mut self, _: &Rc<Env<'p, Self>>, _: Var) -> Run<Vec<Token>> {
        Ok(Vec::new())
    }

    fn add(&mut self, _: &Rc<Env<'p, Self>>, _: Var, elems: &mut Vec<Token>, x: Token) -> Run<()> {
        elems.push(x);
        Ok(())
    }

    fn finish(&mut self, env: &Rc<Env<'p, Self>>, v: Var, elems: Vec<Token>) -> Run<Token> {
        let args = env.function.inst(v).map_or(&[][..], |inst| &inst.args);
        let mut args: Vec<Token> = args.iter().filter_map(|a| env.value(*a)).collect();
        args.push(Token::sequence(elems));
        self.apply(env, v, args)
    }

    fn times(&mut self, n: &Token, _: Span) -> Run<usize> {
        Ok(self.length(n))
    }

    fn int(&mut self, n: usize) -> Token {
        constant(&deckle_ir::scalar::Scalar::I64(n as i64))
    }

    fn items(&mut self, elem: &Type, seq: &Token) -> Vec<Token> {
        (0..self.length(seq)).map(|i| self.token(elem, hash(("element", seq, i)))).collect()
    }

    fn observes(&mut self, _: &Env<'p, Self>, _: Var) -> bool {
        false
    }

    fn observe(&mut self, _: &Rc<Env<'p, Self>>, _: Part<'p, '_>, _: &Token) -> Run<()> {
        Ok(())
    }

    fn observed(&mut self, _: &Rc<Env<'p, Self>>, _: Var) -> Run<()> {
        Ok(())
    }

    fn settle(&mut self, _: bool) -> Run<()> {
        Ok(())
    }

    fn callee(&mut self, _: &Rc<Env<'p, Self>>, _: Var, _: Func) {}

    fn fail(&self, _: impl FnOnce() -> Box<Diagnostic>) -> Halt {
        Halt::Abandoned
    }
}

fn constant(c: &deckle_ir::scalar::Scalar) -> Token {
    Token::Atom(hash(("constant", format!("{c:?}"))))
}

fn is_float(ty: &Type) -> bool {
    ty.as_scalar().is_some_and(|t| t.is_float())
}
