//! Formulas as text: `7 n + 1`, `5 n² + 5 n + 2`, `Σ(i < n: |rows[i]|)`, `log₂(n)`, which is rounded up.

use super::Prediction;
use super::symbols::{CHUNK, Origin, Symbol, THREADS};
use deckle_ir::entity::SizeVar;
use deckle_ir::size::{Atom, Size};

/// Names of positions, from the outermost on.
const POSITIONS: [&str; 6] = ["i", "j", "k", "l", "p", "q"];

impl Prediction {
    /// A formula of this prediction as text.
    pub fn show(&self, formula: &Size) -> String {
        self.size(formula, 0)
    }

    /// `work …, depth …, space … / …`.
    pub fn summary(&self) -> String {
        let [work, depth, seq, par] =
            [&self.cost.work, &self.cost.depth, &self.cost.space.seq, &self.cost.space.par].map(|f| self.show(f));
        format!("work {work}, depth {depth}, space {seq} / {par}")
    }

    /// The symbols that occur in the cost, or in the bounds of those that occur, in order.
    pub fn symbols_used(&self) -> Vec<(SizeVar, &Symbol)> {
        let mut used = vec![false; self.symbols.len()];
        let mut pending: Vec<&Size> =
            vec![&self.cost.work, &self.cost.depth, &self.cost.space.seq, &self.cost.space.par];
        while let Some(size) = pending.pop() {
            let mut found = Vec::new();
            size.any_atom(&mut |a, _| {
                if let Atom::Var(s, _) = a {
                    found.push(s.index());
                }
                false
            });
            for k in found {
                if let Some(symbol) = self.symbols.get(k).filter(|_| !used[k]) {
                    used[k] = true;
                    pending.extend(&symbol.bound);
                }
            }
        }
        let symbols = self.symbols.iter().enumerate().filter(|(k, _)| used[*k]);
        symbols.map(|(k, s)| (SizeVar(k as u32), s)).filter(|(v, _)| *v != CHUNK && *v != THREADS).collect()
    }

    /// A symbol and its bound: `k ≤ n, the number of elements that pass`.
    pub fn describe(&self, symbol: &Symbol) -> String {
        let at = (0..symbol.arity).rev().map(Size::pos).collect::<Vec<_>>();
        let name = self.applied(symbol, &at, symbol.arity);
        let relation = if symbol.origin == Origin::Formula { "=" } else { "≤" };
        match &symbol.bound {
            Some(bound) => format!("{name} {relation} {}, {}", self.size(bound, symbol.arity), symbol.why),
            None => format!("{name}, {}", symbol.why),
        }
    }

    fn size(&self, size: &Size, depth: u32) -> String {
        let mut terms: Vec<&(Vec<Atom>, i128)> = size.terms().iter().collect();
        // The highest power first, and negative terms after positive ones.
        terms.sort_by_key(|(m, c)| (*c < 0, std::cmp::Reverse(m.len())));
        let mut text = String::new();
        for (atoms, c) in terms {
            text += match (text.is_empty(), *c < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text += &self.product(atoms, c.unsigned_abs(), depth);
        }
        if text.is_empty() { "0".into() } else { text }
    }

    fn product(&self, atoms: &[Atom], factor: u128, depth: u32) -> String {
        let mut factors = Vec::new();
        if factor != 1 || atoms.is_empty() {
            factors.push(factor.to_string());
        }
        let mut k = 0;
        while k < atoms.len() {
            let power = atoms[k..].iter().take_while(|a| **a == atoms[k]).count();
            factors.push(format!("{}{}", self.atom(&atoms[k], depth), superscript(power)));
            k += power;
        }
        factors.join(" ")
    }

    fn list(&self, list: &[Size], depth: u32) -> String {
        list.iter().map(|s| self.size(s, depth)).collect::<Vec<_>>().join(", ")
    }

    fn atom(&self, atom: &Atom, depth: u32) -> String {
        match atom {
            Atom::Pos(p) => position(depth.checked_sub(1 + p)),
            Atom::Var(s, at) => match self.symbols.get(s.index()) {
                Some(symbol) => self.applied(symbol, at, depth),
                None => atom.to_string(),
            },
            Atom::Sum(count, body) => self.over("Σ", count, body, depth),
            Atom::Most(count, body) => self.over("max", count, body, depth),
            Atom::Min(list) => format!("min({})", self.list(list, depth)),
            Atom::Max(list) => format!("max({})", self.list(list, depth)),
            Atom::Log(x) => format!("log₂({})", self.size(x, depth)),
            Atom::Div(a, b) => {
                let grouped =
                    |s: &Size| if is_simple(s) { self.size(s, depth) } else { format!("({})", self.size(s, depth)) };
                format!("⌊{} / {}⌋", grouped(a), grouped(b))
            }
            Atom::At(_) | Atom::Value(_) | Atom::Read(..) | Atom::If(..) => atom.to_string(),
        }
    }

    fn over(&self, sign: &str, count: &Size, body: &Size, depth: u32) -> String {
        let (count, body) = (self.size(count, depth), self.size(body, depth + 1));
        format!("{sign}({} < {count}: {body})", position(Some(depth)))
    }

    /// A symbol at positions: in the brackets of its name, or else after it.
    fn applied(&self, symbol: &Symbol, at: &[Size], depth: u32) -> String {
        let mut name = symbol.name.clone();
        let mut rest = Vec::new();
        for s in at {
            let index = self.size(s, depth);
            if name.contains("[]") { name = name.replacen("[]", &format!("[{index}]"), 1) } else { rest.push(index) }
        }
        if rest.is_empty() { name } else { format!("{name}({})", rest.join(", ")) }
    }
}

fn position(level: Option<u32>) -> String {
    match level.map(|l| l as usize) {
        Some(level) if level < POSITIONS.len() => POSITIONS[level].into(),
        Some(level) => format!("i{level}"),
        None => "?".into(),
    }
}

fn is_simple(size: &Size) -> bool {
    size.as_constant().is_some() || size.as_atom().is_some()
}

fn superscript(power: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if power == 1 {
        return String::new();
    }
    power.to_string().bytes().map(|b| DIGITS[(b - b'0') as usize]).collect()
}
