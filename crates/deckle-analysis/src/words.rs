//! Sizes and values in the words of the source, for users.

use deckle_diag::{SourceMap, Span};
use deckle_ir::array::{Def, Function, Op};
use deckle_ir::entity::{Body, Path, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

/// The longest piece of source that is quoted.
const LONGEST: usize = 48;

/// Names for the values of a function.
pub struct Words<'a> {
    function: &'a Function,
    sources: &'a SourceMap,
    /// For each body the statement that it belongs to.
    owners: Vec<Option<Var>>,
}

impl<'a> Words<'a> {
    /// For a function compiled from these sources.
    pub fn new(function: &'a Function, sources: &'a SourceMap) -> Self {
        let mut owners = vec![None; function.bodies.len()];
        for (k, data) in function.vars.iter().enumerate() {
            if let Def::Inst(inst) = &data.def {
                inst.bodies.iter().for_each(|b| owners[b.index()] = Some(Var(k as u32)));
            }
        }
        Words { function, sources, owners }
    }

    /// The statement that a body belongs to.
    pub fn owner(&self, body: Body) -> Option<Var> {
        self.owners[body.index()]
    }

    /// The source of a span on one line, truncated if too long. `None` if the span is empty.
    pub fn text(&self, span: Span) -> Option<String> {
        let file = self.sources.get(span.file).filter(|_| !span.is_none())?;
        let text = file.text.get(span.lo as usize..span.hi as usize)?;
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = line.chars().take(LONGEST).collect();
        match (line.is_empty(), cut.len() < line.len()) {
            (true, _) => None,
            (_, true) => Some(format!("{cut}…")),
            _ => Some(line),
        }
    }

    /// `line:column` of a span.
    pub fn place(&self, span: Span) -> String {
        match self.sources.get(span.file).filter(|_| !span.is_none()) {
            Some(file) => {
                let (line, column) = file.line_col(span.lo);
                format!("{line}:{column}")
            }
            None => String::new(),
        }
    }

    /// The name of a variable in the source: a parameter's name, the element of a collection, or the expression.
    pub fn value(&self, v: Var) -> String {
        let of_source = |v: Var| self.text(self.function.span(v)).unwrap_or_else(|| v.to_string());
        match &self.function.vars[v.index()].def {
            Def::Param(Function::ROOT, k) => {
                self.function.param_names.get(*k as usize).cloned().unwrap_or_else(|| v.to_string())
            }
            Def::Param(body, k) => match self.owner(*body).and_then(|o| self.function.inst(o)) {
                Some(inst) if matches!(inst.op, Op::Map | Op::Filter | Op::Partition | Op::SortBy | Op::GroupBy) => {
                    let over = inst.args.get(*k as usize).map_or_else(|| v.to_string(), |a| self.value(*a));
                    format!("{over}[{}]", self.position(*body))
                }
                Some(inst) if matches!(inst.op, Op::Generate | Op::Produce) => {
                    name_of_position(self.depth(*body) + *k as usize)
                }
                _ => v.to_string(),
            },
            Def::Inst(inst) => match (&inst.op, inst.args.as_slice()) {
                // Wrappers that the front end adds to a value are not shown.
                (Op::Seq | Op::Ensure(_), [a]) => self.value(*a),
                _ => of_source(v),
            },
        }
    }

    /// The name of the position at which a body runs: `i` outside, `j` inside it, and so on.
    pub fn position(&self, body: Body) -> String {
        name_of_position(self.depth(body))
    }

    /// The number of enclosing bodies that run at each element.
    fn depth(&self, body: Body) -> usize {
        let mut depth = 0;
        let mut around = body;
        while let Some(owner) = self.owner(around) {
            let Some(home) = self.home(owner) else { break };
            depth += usize::from(home != Function::ROOT && self.owner(home).is_some_and(|o| self.repeats(o)));
            around = home;
        }
        depth
    }

    fn repeats(&self, owner: Var) -> bool {
        self.function.inst(owner).is_some_and(|inst| crate::regularity::per_element(&inst.op))
    }

    fn home(&self, v: Var) -> Option<Body> {
        let holds = |b: &deckle_ir::array::BodyData| b.stmts.contains(&v) || b.params.contains(&v);
        self.function.bodies.iter().position(holds).map(|k| Body(k as u32))
    }

    /// A component, by the names of its fields if it has them.
    pub fn path(&self, p: &Path) -> String {
        let mut text = self.value(p.root);
        let mut ty = Some(self.function.ty(p.root));
        for &k in &p.fields {
            match ty {
                Some(Type::Record(r)) if (k as usize) < r.fields.len() => {
                    text += &format!(".{}", r.fields[k as usize].0)
                }
                _ => text += &format!(".{k}"),
            }
            ty = ty.and_then(|t| t.parts()?.get(k as usize).copied());
        }
        text
    }

    /// A size. Positions that it binds itself are named by letters from `p` on.
    pub fn size(&self, size: &Size) -> String {
        self.sum(size, 0)
    }

    fn sum(&self, size: &Size, depth: u32) -> String {
        size.spelled(&mut |a| Some(self.atom(a, depth))).unwrap_or_default()
    }

    fn atom(&self, atom: &Atom, depth: u32) -> String {
        let list = |l: &[Size]| l.iter().map(|s| self.sum(s, depth)).collect::<Vec<_>>().join(", ");
        match atom {
            Atom::Pos(p) => match depth.checked_sub(p + 1) {
                Some(level) => name_of_bound(level),
                None => "p".into(),
            },
            Atom::At(b) => self.position(*b),
            Atom::Var(s, at) => {
                if let (false, Some(v)) = (at.is_empty(), self.function.size_binder(*s))
                    && self.function.ty(v).as_array().is_some()
                {
                    return format!("length({}[{}])", self.value(v), list(at));
                }
                let named = self.function.size_names.iter().find(|n| n.0 == *s).map(|n| n.1.clone());
                let name = named.unwrap_or_else(|| match self.function.size_binder(*s) {
                    Some(v) if self.function.ty(v).as_array().is_some() => format!("length({})", self.value(v)),
                    _ => s.to_string(),
                });
                if at.is_empty() { name } else { format!("{name}[{}]", list(at)) }
            }
            Atom::Value(p) => self.path(p),
            Atom::Read(p, at) => format!("{}[{}]", self.path(p), list(at)),
            Atom::Sum(n, body) => {
                let k = name_of_bound(depth);
                format!("Σ({k} < {}: {})", self.sum(n, depth), self.sum(body, depth + 1))
            }
            Atom::Most(n, body) => {
                let k = name_of_bound(depth);
                format!("max({k} < {}: {})", self.sum(n, depth), self.sum(body, depth + 1))
            }
            Atom::Log(x) => format!("log₂({})", self.sum(x, depth)),
            Atom::Min(l) => format!("min({})", list(l)),
            Atom::Max(l) => format!("max({})", list(l)),
            Atom::If(c, x, y) => {
                format!("(if {} then {} else {})", self.path(c), self.sum(x, depth), self.sum(y, depth))
            }
            Atom::Div(x, y) => format!("({}) / ({})", self.sum(x, depth), self.sum(y, depth)),
        }
    }
}

fn name_of_position(depth: usize) -> String {
    match depth {
        0..=2 => ["i", "j", "k"][depth].to_string(),
        _ => format!("i{depth}"),
    }
}

fn name_of_bound(level: u32) -> String {
    match level {
        0..=2 => ["p", "q", "r"][level as usize].to_string(),
        _ => format!("p{level}"),
    }
}
