//! Expressions: operators, literals, structs, arrays and indexing. Calls are in `calls.rs`, assignments in `places.rs`.

use super::ir::{Code, Stmt};
use super::lower::Lower;
use super::pattern::member;
use super::{refuse, types};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Lit, UnOp};

/// The function of an operator of two operands.
fn operator(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) => "add",
        BinOp::Sub(_) => "sub",
        BinOp::Mul(_) => "mul",
        BinOp::Div(_) => "div",
        BinOp::Rem(_) => "rem",
        BinOp::BitXor(_) => "bitxor",
        BinOp::BitAnd(_) => "bitand",
        BinOp::BitOr(_) => "bitor",
        BinOp::Shl(_) => "shl",
        BinOp::Shr(_) => "shr",
        BinOp::Eq(_) => "eq",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Ne(_) => "ne",
        BinOp::Ge(_) => "ge",
        BinOp::Gt(_) => "gt",
        _ => return None,
    })
}

/// Without parentheses and references, which mean nothing for values.
pub fn plain(e: &Expr) -> &Expr {
    match e {
        Expr::Paren(p) => plain(&p.expr),
        Expr::Group(g) => plain(&g.expr),
        Expr::Reference(r) if r.mutability.is_none() => plain(&r.expr),
        Expr::Unary(u) if matches!(u.op, UnOp::Deref(_)) => plain(&u.expr),
        e => e,
    }
}

impl Lower<'_> {
    /// The value of an expression; statements in it are translated before.
    pub fn value(&mut self, e: &Expr) -> Code {
        let span = e.span();
        match e {
            Expr::Lit(l) => self.literal(&l.lit, false),
            Expr::Paren(_) | Expr::Group(_) => self.value(plain(e)),
            Expr::Path(p) => self.path(p),
            Expr::Unary(u) => self.unary(u),
            Expr::Binary(b) => self.binary(b),
            Expr::Cast(c) => self.cast(c),
            Expr::Field(f) => {
                let whole = self.value(&f.base);
                let (member, name) = member(&f.member);
                Code::of(quote_spanned! { span => __k::field(#whole, #name, |__s| __s #member) }, [&whole])
            }
            Expr::Index(i) => self.index(i),
            Expr::Tuple(t) if (2..=8).contains(&t.elems.len()) => {
                let parts = self.operands(&t.elems.iter().collect::<Vec<_>>());
                let make = format_ident!("tuple{}", parts.len());
                Code::of(quote_spanned! { span => __k::#make(#(#parts),*) }, &parts)
            }
            Expr::Array(a) => {
                let parts = self.operands(&a.elems.iter().collect::<Vec<_>>());
                Code::of(quote_spanned! { span => __k::array([#(#parts),*]) }, &parts)
            }
            Expr::Repeat(r) => {
                let (x, n) = (self.value(&r.expr), &r.len);
                Code::of(quote_spanned! { span => __k::filled::<_, { #n }>(#x) }, [&x])
            }
            Expr::Struct(s) => self.construct(s),
            Expr::Reference(r) => match &r.mutability {
                None => self.value(&r.expr),
                Some(m) => self.refuse(m.span, refuse::MUTABLE),
            },
            Expr::Call(c) => self.call(c),
            Expr::MethodCall(m) => self.method(m),
            Expr::Macro(m) => self.macro_call(&m.mac),
            Expr::If(_) | Expr::Match(_) | Expr::Loop(_) => self.through_variable(e),
            Expr::Block(b) if b.label.is_none() => self.through_variable(e),
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => self.through_variable(e),
            other => self.refuse(refuse::token(other), refuse::expression(other)),
        }
    }

    fn through_variable(&mut self, e: &Expr) -> Code {
        let var = self.later(e.span());
        self.assign_to(e, Some(var));
        self.read(var)
    }

    /// The values of operands, evaluated in order.
    pub fn operands(&mut self, exprs: &[&Expr]) -> Vec<Code> {
        let mut done: Vec<Code> = Vec::new();
        for e in exprs {
            let before = self.mark();
            let value = self.value(e);
            if self.mark() > before {
                for (at, code) in (before..).zip(done.iter_mut().filter(|c| !c.is_constant)) {
                    let var = self.names.fresh("t", e.span());
                    let kept = std::mem::replace(code, self.read(var));
                    self.insert(at, Stmt::Let(var, None, Some(kept)));
                }
            }
            done.push(value);
        }
        done
    }

    pub fn literal(&mut self, lit: &Lit, is_negative: bool) -> Code {
        let sign = if is_negative {
            quote! { - }
        } else {
            quote! {}
        };
        match lit {
            Lit::Int(_) | Lit::Float(_) => Code::constant(quote_spanned! { lit.span() => __k::lit(#sign #lit) }),
            Lit::Bool(_) | Lit::Byte(_) => Code::constant(quote_spanned! { lit.span() => __k::lit(#lit) }),
            Lit::Char(_) => self.refuse(lit.span(), refuse::CHAR),
            other => self.refuse(other.span(), refuse::STRING),
        }
    }

    fn path(&mut self, p: &syn::ExprPath) -> Code {
        if let Some(name) = p.path.get_ident()
            && let Some(var) = self.lookup(name)
        {
            let mut code = self.read(var);
            // Errors in the use of a variable are reported where it is used.
            let mut ident = self.names.ident(var).clone();
            ident.set_span(name.span());
            code.tokens = quote! { #ident };
            return code;
        }
        if let Some(why) = refuse::known_path(&p.path) {
            return self.refuse(p.span(), why);
        }
        Code::constant(quote_spanned! { p.span() => __k::lit(#p) })
    }

    /// Whether an expression names a constant.
    pub fn constant<'e>(&self, e: &'e Expr) -> Option<&'e syn::ExprPath> {
        match plain(e) {
            Expr::Path(p) if p.path.get_ident().is_none_or(|name| self.lookup(name).is_none()) => Some(p),
            _ => None,
        }
    }

    fn unary(&mut self, u: &syn::ExprUnary) -> Code {
        match (&u.op, plain(&u.expr)) {
            (UnOp::Deref(_), _) => self.value(&u.expr),
            (UnOp::Neg(_), Expr::Lit(l)) => self.literal(&l.lit, true),
            (op, _) => {
                let x = self.value(&u.expr);
                let name = if matches!(op, UnOp::Neg(_)) {
                    quote! { neg }
                } else {
                    quote! { not }
                };
                Code::of(quote_spanned! { op.span() => __k::#name(#x) }, [&x])
            }
        }
    }

    fn binary(&mut self, b: &syn::ExprBinary) -> Code {
        let span = b.op.span();
        if matches!(b.op, BinOp::And(_) | BinOp::Or(_)) {
            return self.lazy(b);
        }
        let Some(name) = operator(&b.op) else {
            return self.refuse(span, refuse::ASSIGNMENT_VALUE);
        };
        let sides = self.operands(&[&b.left, &b.right]);
        let (x, y) = (&sides[0], &sides[1]);
        let name = format_ident!("{name}");
        Code::of(quote_spanned! { span => __k::#name(#x, #y) }, &sides)
    }

    /// `&&` and `||`, whose second operand may not be evaluated.
    fn lazy(&mut self, b: &syn::ExprBinary) -> Code {
        let span = b.op.span();
        let is_and = matches!(b.op, BinOp::And(_));
        let first = self.value(&b.left);
        let (stmts, second) = self.inside(|this| this.value(&b.right));
        if stmts.is_empty() {
            let name = if is_and {
                quote! { and }
            } else {
                quote! { or }
            };
            return Code::of(quote_spanned! { span => __k::#name(#first, move || #second) }, [&first, &second]);
        }
        let var = self.later(span);
        let mut more = stmts;
        more.push(Stmt::Set(var, second));
        let known = Stmt::Set(
            var,
            Code::constant(if is_and {
                quote! { __k::lit(false) }
            } else {
                quote! { __k::lit(true) }
            }),
        );
        let (yes, no) = if is_and { (more, vec![known]) } else { (vec![known], more) };
        self.push(Stmt::If(first, yes, no));
        self.read(var)
    }

    fn cast(&mut self, c: &syn::ExprCast) -> Code {
        let ty = types::host(&c.ty, &mut self.errors);
        let span = c.as_token.span;
        // A literal without a type has that of its cast, if that is an integer.
        let (inner, is_negative) = match plain(&c.expr) {
            Expr::Unary(u) if matches!(u.op, UnOp::Neg(_)) => (plain(&u.expr), true),
            e => (e, false),
        };
        if let Expr::Lit(syn::ExprLit { lit: Lit::Int(n), .. }) = inner
            && n.suffix().is_empty()
            && types::is_integer(&c.ty)
        {
            let sign = if is_negative {
                quote! { - }
            } else {
                quote! {}
            };
            return Code::constant(quote_spanned! { n.span() => __k::lit::<#ty>(#sign #n) });
        }
        let x = self.value(&c.expr);
        Code::of(quote_spanned! { span => __k::cast::<_, #ty>(#x) }, [&x])
    }

    fn index(&mut self, e: &syn::ExprIndex) -> Code {
        let span = e.span();
        if let Expr::Range(r) = plain(&e.index) {
            return self.refuse(r.span(), refuse::SLICING);
        }
        if let Some(table) = self.constant(&e.expr) {
            let i = self.value(&e.index);
            return Code::of(quote_spanned! { span => __k::in_table(&#table, #i) }, [&i]);
        }
        let both = self.operands(&[&e.expr, &e.index]);
        let (xs, i) = (&both[0], &both[1]);
        Code::of(quote_spanned! { span => __k::at(#xs, #i) }, &both)
    }

    fn construct(&mut self, s: &syn::ExprStruct) -> Code {
        let span = s.path.span();
        let values = self.operands(&s.fields.iter().map(|f| &f.expr).collect::<Vec<_>>());
        let members: Vec<_> = s.fields.iter().map(|f| &f.member).collect();
        let names: Vec<String> = s.fields.iter().map(|f| member(&f.member).1).collect();
        let params: Vec<_> = (0..values.len()).map(|k| format_ident!("__f{k}", span = span)).collect();
        let list = values.iter().rev().fold(quote! { () }, |rest, x| quote! { (#x, #rest) });
        let pattern = params.iter().rev().fold(quote! { () }, |rest, x| quote! { (#x, #rest) });
        let path = &s.path;
        if let Some(base) = &s.rest {
            let base = self.value(base);
            let tokens = quote_spanned! { span =>
                __k::update(#list, &[#(#names),*], #base, |#pattern, __base| #path { #(#members: #params,)* ..__base })
            };
            return Code::of(tokens, values.iter().chain([&base]));
        }
        let tokens = quote_spanned! { span =>
            __k::construct(#list, &[#(#names),*], |#pattern| #path { #(#members: #params),* })
        };
        Code::of(tokens, &values)
    }
}
