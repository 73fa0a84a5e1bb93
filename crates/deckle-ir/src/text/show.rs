//! Writing sizes and types.

use crate::scalar::ScalarType;
use crate::size::{Atom, Size};
use crate::types::Type;
use std::fmt;

/// A name as it is written: plain if it looks like one, else in quotes.
pub(crate) struct Name<'a>(pub &'a str);

impl Name<'_> {
    fn is_plain(&self) -> bool {
        let mut chars = self.0.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_')
            && ScalarType::from_name(self.0).is_none()
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_plain() {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// Writes items with `, ` between them.
pub(crate) fn comma_separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (k, item) in items.into_iter().enumerate() {
        if k > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        size(f, self, 0)
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        atom(f, self, 0)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ty(f, self, 0)
    }
}

/// A size with `depth` binders around it. Positive terms come first, and the constant last, unless the text would then
/// start with a minus: `5 - n0`.
fn size(f: &mut fmt::Formatter<'_>, s: &Size, depth: u32) -> fmt::Result {
    let mut terms: Vec<_> = s.terms().iter().collect();
    let constant_leads = !terms.iter().any(|(m, c)| !m.is_empty() && *c > 0);
    terms.sort_by_key(|(m, c)| if constant_leads { (*c < 0, m.is_empty()) } else { (m.is_empty(), *c < 0) });
    if terms.is_empty() {
        return f.write_str("0");
    }
    for (k, (atoms, c)) in terms.into_iter().enumerate() {
        f.write_str(match (k, *c < 0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        })?;
        let factor = c.unsigned_abs();
        if factor != 1 || atoms.is_empty() {
            write!(f, "{factor}")?;
        }
        for (j, a) in atoms.iter().enumerate() {
            if j > 0 || factor != 1 {
                f.write_str("*")?;
            }
            atom(f, a, depth)?;
        }
    }
    Ok(())
}

fn sizes(f: &mut fmt::Formatter<'_>, open: &str, list: &[Size], close: &str, depth: u32) -> fmt::Result {
    f.write_str(open)?;
    comma_separated(f, list, |f, s| size(f, s, depth))?;
    f.write_str(close)
}

fn pair(f: &mut fmt::Formatter<'_>, a: &Size, b: &Size, depth: u32) -> fmt::Result {
    size(f, a, depth)?;
    f.write_str(", ")?;
    size(f, b, depth)?;
    f.write_str(")")
}

fn atom(f: &mut fmt::Formatter<'_>, a: &Atom, depth: u32) -> fmt::Result {
    match a {
        Atom::Pos(p) if *p < depth => write!(f, "i{}", depth - 1 - p),
        Atom::Pos(p) => write!(f, "#{}", p - depth),
        Atom::At(body) => write!(f, "{body}"),
        Atom::Var(v, at) => {
            write!(f, "{v}")?;
            if at.is_empty() { Ok(()) } else { sizes(f, "(", at, ")", depth) }
        }
        Atom::Value(path) => write!(f, "{path}"),
        Atom::Read(path, at) => {
            write!(f, "{path}")?;
            sizes(f, "[", at, "]", depth)
        }
        Atom::Sum(count, body) | Atom::Most(count, body) => {
            let name = if matches!(a, Atom::Sum(..)) { "sum" } else { "most" };
            write!(f, "{name}(i{depth} < ")?;
            size(f, count, depth)?;
            f.write_str(": ")?;
            size(f, body, depth + 1)?;
            f.write_str(")")
        }
        Atom::Min(list) => sizes(f, "min(", list, ")", depth),
        Atom::Max(list) => sizes(f, "max(", list, ")", depth),
        Atom::If(cond, yes, no) => {
            write!(f, "if({cond}, ")?;
            pair(f, yes, no, depth)
        }
        Atom::Log(x) => {
            f.write_str("log(")?;
            size(f, x, depth)?;
            f.write_str(")")
        }
        Atom::Div(a, b) => {
            f.write_str("div(")?;
            pair(f, a, b, depth)
        }
    }
}

/// A type with `depth` binders around it.
fn ty(f: &mut fmt::Formatter<'_>, t: &Type, depth: u32) -> fmt::Result {
    match t {
        Type::Scalar(s) => write!(f, "{s}"),
        Type::Tuple(parts) => {
            f.write_str("(")?;
            comma_separated(f, parts.iter(), |f, t| ty(f, t, depth))?;
            f.write_str(if parts.len() == 1 { ",)" } else { ")" })
        }
        Type::Record(r) => {
            write!(f, "{}{{", Name(&r.name))?;
            comma_separated(f, &r.fields, |f, (name, t)| {
                write!(f, "{}: ", Name(name))?;
                ty(f, t, depth)
            })?;
            f.write_str("}")
        }
        Type::Array(a) => {
            f.write_str("[")?;
            elem(f, &a.elem, depth)?;
            f.write_str("; ")?;
            size(f, &a.size, depth)?;
            f.write_str("]")
        }
        Type::Seq(e) => {
            f.write_str("{")?;
            elem(f, e, depth)?;
            f.write_str("}")
        }
    }
}

fn elem(f: &mut fmt::Formatter<'_>, t: &Type, depth: u32) -> fmt::Result {
    if t.any_atom(&mut |a, inside| matches!(a, Atom::Pos(p) if *p == inside)) {
        write!(f, "i{depth} -> ")?;
    }
    ty(f, t, depth + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Body, SizeVar, Var};
    use crate::types::RecordType;
    use std::sync::Arc;

    fn n(k: u32) -> Size {
        Size::var(SizeVar(k))
    }
    fn read(i: Size) -> Size {
        Atom::Read(Var(3).into(), vec![i]).into()
    }

    #[test]
    fn sizes_read_as_arithmetic() {
        let one = Size::constant(1);
        assert_eq!(n(0).add(&one).to_string(), "n0 + 1");
        assert_eq!(n(0).mul(&n(1)).scale(2).sub(&Size::constant(3)).to_string(), "2*n0*n1 - 3");
        assert_eq!(Size::constant(5).sub(&n(0)).to_string(), "5 - n0");
        assert_eq!(n(1).sub(&n(0)).add(&one).to_string(), "n1 - n0 + 1");
        assert_eq!(n(1).scale(-2).sub(&n(0)).to_string(), "-n0 - 2*n1");
        assert_eq!(Size::constant(0).to_string(), "0");
        assert_eq!(Size::constant(i128::MIN).to_string(), format!("{}", i128::MIN));
        assert_eq!(n(0).lesser(&n(1)).to_string(), "min(n0, n1)");
        assert_eq!(Size::select(Var(3).into(), &n(0), &one).to_string(), "if(v3, n0, 1)");
        assert_eq!(n(0).div(&Size::constant(2)).to_string(), "div(n0, 2)");
        assert_eq!(Size::from(Atom::At(Body(2))).to_string(), "^2");
        assert_eq!(Size::value(crate::entity::Path::from(Var(3)).field(0)).to_string(), "v3.0");
        assert_eq!(Size::pos(1).to_string(), "#1");
    }

    #[test]
    fn positions_are_called_after_the_level_of_their_binder() {
        let row = read(Size::pos(0).add(&Size::constant(1))).sub(&read(Size::pos(0)));
        let csr = Type::array(n(0), Type::array(row, ScalarType::F64.into()));
        assert_eq!(csr.to_string(), "[i0 -> [f64; v3[i0 + 1] - v3[i0]]; n0]");
        assert_eq!(Type::array_of(7.into(), &csr).to_string(), "[[i1 -> [f64; v3[i1 + 1] - v3[i1]]; n0]; 7]");
        let total = Size::sum(&read(Size::pos(0)), &read(Size::pos(0)).mul(&read(Size::pos(1))));
        let summed = Type::seq(Type::array(total, Type::INT));
        assert_eq!(summed.to_string(), "{i0 -> [i64; sum(i1 < v3[i0]: v3[i1]*v3[i0])]}");
    }

    #[test]
    fn tuples_and_records_show_their_parts() {
        let one = Type::tuple(vec![Type::INT]);
        assert_eq!(Type::tuple(vec![]).to_string(), "()");
        assert_eq!(one.to_string(), "(i64,)");
        let fields = vec![("off".to_string(), Type::array_of(n(0), &Type::INT)), ("a b".to_string(), one)];
        let record = Type::Record(Arc::new(RecordType { name: "i64".to_string(), fields }));
        assert_eq!(record.to_string(), "\"i64\"{off: [i64; n0], \"a b\": (i64,)}");
    }
}
