//! The syntax tree of a `.dk` file, before name resolution and type inference.
//!
//! Expressions, types and patterns live in three arenas of their [`Module`] and refer to each other by
//! handle. A node is added after its parts, so a handle only points backwards, and dropping a module
//! never recurses, however deep the program. The parser also bounds the depth of every expression
//! ([`MAX_TREE_DEPTH`]).
//!
//! A syntax error is an `Error` node and a diagnostic; later passes skip such nodes without a
//! message.

use std::rc::Rc;

use deckle_diag::{FileId, Span};

/// No path from the root of an expression to a leaf is longer than this.
pub const MAX_TREE_DEPTH: u32 = 3000;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident => $node:ident in $arena:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl std::ops::Index<$name> for Module {
            type Output = $node;
            fn index(&self, id: $name) -> &$node {
                &self.$arena[id.0 as usize]
            }
        }
    )*};
}

handles! {
    /// An expression of a [`Module`].
    ExprId => Expr in exprs;
    /// A written type of a [`Module`].
    TypeId => TypeExpr in types;
    /// A pattern of a [`Module`].
    PatId => Pat in pats;
}

/// One parsed file.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The file it was read from.
    pub file: FileId,
    /// All expressions.
    pub exprs: Vec<Expr>,
    /// All written types.
    pub types: Vec<TypeExpr>,
    /// All patterns.
    pub pats: Vec<Pat>,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The type definitions, in order.
    pub type_defs: Vec<TypeDef>,
    /// The function definitions, in order.
    pub defs: Vec<Def>,
    /// Functions and types whose definition could not be read, so that their use is no second error.
    pub broken: Vec<Name>,
}

/// An identifier where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its text.
    pub text: Rc<str>,
    /// Its place.
    pub span: Span,
}

/// `import "path" as alias`, `import "path" (names)`, or the same with the name of a library module: `import sparse`.
#[derive(Clone, Debug)]
pub struct Import {
    /// What is imported.
    pub origin: Origin,
    /// The name by which the module is accessed.
    pub alias: Option<Name>,
    /// The names brought into scope; `None` without a list.
    pub names: Option<Vec<Name>>,
    /// The whole import.
    pub span: Span,
}

/// Where an imported module comes from. It prints as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file, by its path as written.
    File(String),
    /// A module of the library that comes with Deckle.
    Library(Rc<str>),
}

impl Origin {
    /// The name of the module if the import gives it no other.
    pub fn stem(&self) -> &str {
        match self {
            Origin::File(path) => path.rsplit('/').next().unwrap_or_default().trim_end_matches(".dk"),
            Origin::Library(name) => name,
        }
    }

    /// The path or the name, without quotes.
    pub fn name(&self) -> &str {
        match self {
            Origin::File(path) => path,
            Origin::Library(name) => name,
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::File(path) => write!(f, "{path:?}"),
            Origin::Library(name) => f.write_str(name),
        }
    }
}

/// `type name[params] = body`.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its name.
    pub name: Name,
    /// Its type parameters.
    pub params: Vec<Name>,
    /// Its definition.
    pub body: TypeId,
    /// The `///` lines before it.
    pub doc: String,
    /// The whole definition.
    pub span: Span,
}

/// `def name(params): ret = body`.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of its result, if written.
    pub ret: Option<TypeId>,
    /// Its body.
    pub body: ExprId,
    /// The `///` lines before it.
    pub doc: String,
    /// The whole definition.
    pub span: Span,
}

/// A parameter of a [`Def`].
#[derive(Clone, Debug)]
pub struct Param {
    /// Its pattern.
    pub pat: PatId,
    /// Its type, if written.
    pub ty: Option<TypeId>,
}

/// A pattern and its place.
#[derive(Clone, Debug)]
pub struct Pat {
    /// What it matches.
    pub kind: PatKind,
    /// Its place.
    pub span: Span,
}

/// What a [`Pat`] matches.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// `x`
    Name(Name),
    /// `_`
    Wild,
    /// `(p, q)`; `()` has no parts.
    Tuple(Vec<PatId>),
    /// A reported error.
    Error,
}

/// A written type and its place.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// Its form.
    pub kind: TypeKind,
    /// Its place.
    pub span: Span,
}

/// The form of a [`TypeExpr`].
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `int`, `csr[real]`, `sparse.csr[real]`
    Name {
        /// The module before the dot.
        module: Option<Name>,
        /// The type's name.
        name: Name,
        /// Its arguments.
        args: Vec<TypeId>,
    },
    /// `(t, u)`; `()` has no parts, and `(t)` is `t`.
    Tuple(Vec<TypeId>),
    /// `{t}`, a sequence.
    Seq(TypeId),
    /// `{ x: t, y: u }`
    Record(Vec<(Name, TypeId)>),
    /// `[t]`, `[t; n, m]`, `[i -> t; n]`, a vector or array.
    Array {
        /// The position that the element type may mention.
        binder: Option<Name>,
        /// The type of the elements.
        elem: TypeId,
        /// The sizes, outermost first; empty if none is written.
        sizes: Vec<ExprId>,
    },
    /// A reported error.
    Error,
}

/// An expression and its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its form.
    pub kind: ExprKind,
    /// Its place, without the parentheses around it.
    pub span: Span,
}

/// The form of an [`Expr`].
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `12`, `0xffu8`. A minus sign before it is a [`UnOp::Neg`] around it, so `-128i8` has the magnitude
    /// 128: a later pass, which knows both, checks that the value fits its type.
    Int {
        /// The value without sign.
        value: u64,
        /// The type written after it.
        suffix: Option<ScalarSuffix>,
    },
    /// `1.5`, `1e-3f32`, `2f64`
    Float {
        /// The nearest double.
        value: f64,
        /// Digits, point and exponent as written, without `_` and suffix, so that an `f32` is rounded once.
        text: Rc<str>,
        /// `F32` or `F64`.
        suffix: Option<ScalarSuffix>,
    },
    /// `true`, `false`
    Bool(bool),
    /// `'a'`, a `u8`.
    Char(u8),
    /// `"abc"`, bytes.
    Str(Vec<u8>),
    /// `x`
    Name(Name),
    /// `(a, b)`; `()` has no parts, and `(a)` is `a`.
    Tuple(Vec<ExprId>),
    /// `let pat: ty = value in body`
    Let {
        /// The pattern.
        pat: PatId,
        /// Its type, if written.
        ty: Option<TypeId>,
        /// Its value.
        value: ExprId,
        /// Where it is in scope.
        body: ExprId,
    },
    /// `if cond then then else els`
    If {
        /// The condition.
        cond: ExprId,
        /// The value if it holds.
        then: ExprId,
        /// The value if it does not.
        els: ExprId,
    },
    /// `loop pat = init while c do body`, `loop pat = init for i < n do body`
    Loop {
        /// The state.
        pat: PatId,
        /// The state before the first round.
        init: ExprId,
        /// The number of rounds; sees the state.
        kind: LoopKind,
        /// The next state.
        body: ExprId,
    },
    /// `\x (a, b) -> body`
    Lambda {
        /// At least one.
        params: Vec<PatId>,
        /// The result.
        body: ExprId,
    },
    /// `f(a, b)`; with named arguments, `vec3(x = 1.0, y = 2.0)`, the construction of a record.
    Call {
        /// The function.
        func: ExprId,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// `base with (x = 1.0)`, a copy with other fields.
    With {
        /// The record.
        base: ExprId,
        /// The changed fields.
        fields: Vec<(Name, ExprId)>,
    },
    /// `a[i, :, lo:hi]`, `a ! i`
    Index {
        /// The array.
        base: ExprId,
        /// At least one.
        items: Vec<IndexItem>,
    },
    /// `e.x`: a field, or a name of a module.
    Field(ExprId, Name),
    /// `t.0`; the span is that of the number.
    Component(ExprId, u32, Span),
    /// `-a`
    Unary(UnOp, ExprId),
    /// `a + b`
    Binary(BinOp, ExprId, ExprId),
    /// `(+)`, or `+` alone as an argument.
    Operator(BinOp),
    /// `lo..hi`, `lo..<hi`, `lo..hi by step`
    Range {
        /// The first.
        lo: ExprId,
        /// The last, or one past it.
        hi: ExprId,
        /// Whether `hi` is in it: `..` and not `..<`.
        inclusive: bool,
        /// The distance between successive elements, if written.
        step: Option<ExprId>,
    },
    /// `{a, b}`
    Seq(Vec<ExprId>),
    /// `[a, b]`
    Array(Vec<ExprId>),
    /// `{ body : p in s; q in t | guard }`
    SeqComp {
        /// The elements.
        body: ExprId,
        /// At least one.
        gens: Vec<Gen>,
        /// The condition of a filter.
        guard: Option<ExprId>,
    },
    /// `[ body : p in s; q in t | guard ]`
    ArrayComp {
        /// The elements.
        body: ExprId,
        /// At least one.
        gens: Vec<Gen>,
        /// The condition of a filter.
        guard: Option<ExprId>,
    },
    /// `{ body | cond }`: one element or none.
    Guarded {
        /// The element.
        body: ExprId,
        /// Whether the element exists.
        cond: ExprId,
    },
    /// A reported error.
    Error,
}

/// The number of rounds of a loop.
#[derive(Clone, Debug)]
pub enum LoopKind {
    /// While this holds.
    While(ExprId),
    /// `for i < hi`, `for i in lo..hi`, `for i in lo..<hi`
    For {
        /// The counter.
        var: Name,
        /// The start; 0 if not written.
        lo: Option<ExprId>,
        /// The end.
        hi: ExprId,
        /// Whether it reaches `hi`.
        inclusive: bool,
    },
}

/// `pat in source`, in a comprehension.
#[derive(Clone, Debug)]
pub struct Gen {
    /// The pattern bound to each element.
    pub pat: PatId,
    /// The source of the elements.
    pub source: ExprId,
    /// The whole generator.
    pub span: Span,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub struct Arg {
    /// The `x` of `x = value`.
    pub name: Option<Name>,
    /// The value.
    pub value: ExprId,
}

/// A part of an index.
#[derive(Clone, Debug)]
pub enum IndexItem {
    /// `:`
    All(Span),
    /// `i`
    At(ExprId),
    /// `lo:hi`, `lo:`, `:hi`; at least one is present.
    Range(Option<ExprId>, Option<ExprId>),
}

/// The type written after a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is spelt like the type it names")]
pub enum ScalarSuffix {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl ScalarSuffix {
    /// All of them.
    pub const ALL: [ScalarSuffix; 10] = {
        use ScalarSuffix::*;
        [I8, I16, I32, I64, U8, U16, U32, U64, F32, F64]
    };

    /// As written.
    pub fn text(self) -> &'static str {
        use ScalarSuffix::*;
        match self {
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            F32 => "f32",
            F64 => "f64",
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, ScalarSuffix::F32 | ScalarSuffix::F64)
    }
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// `-`
    Neg,
    /// `!`, `not`
    Not,
    /// `~`
    BitNot,
}

impl UnOp {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            UnOp::Neg => "-",
            UnOp::Not => "!",
            UnOp::BitNot => "~",
        }
    }
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`text` shows each of them")]
pub enum BinOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitXor,
    BitAnd,
    Shl,
    Shr,
    Append,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
}

impl BinOp {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            BinOp::Or => "||",
            BinOp::And => "&&",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::BitOr => "|",
            BinOp::BitXor => "^",
            BinOp::BitAnd => "&",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::Append => "++",
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::Pow => "**",
        }
    }

    /// Whether it compares.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)
    }
}
