//! Bytes at the peak of a run that streams.
//!
//! # The rule
//! - A vector is entirely in memory: its scalars at their width in bytes, and 8 bytes of offset for each row of a ragged dimension.
//! - One chunk of a sequence is in memory: the number of elements in the symbol `chunk`, at most all of them, each at the width of
//!   its scalars and one byte of flag for each level of sequences. A vector that is an element cannot be split: each of `threads`
//!   threads holds the largest entirely in addition to its chunk.
//! - A body that runs for each element produces sequences: each of its variables is the sequence of its values, one for each run, and is
//!   in memory like a sequence.
//! - A fold or scan has a partial result for each thread. Sorting has a second copy.
//! - A variable lasts as long as its body, as in the cost model. Memory that a loop leaves behind is freed in each round; the old state
//!   coexists with the new.
//!
//! The bound is about data: code, the stack and the runtime's own memory come on top.

use super::formula::Formula;
use super::shape::Shape;
use super::symbols::{CHUNK, Symbols, THREADS, close};
use deckle_ir::cost::Quantity;
use deckle_ir::entity::Body;
use deckle_ir::scalar::ScalarType;
use deckle_ir::size::Size;
use deckle_ir::types::Type;

/// The maximal number of kinds of streams that are distinguished.
const MOST_STREAMS: usize = 8;

/// Bytes that a value, a statement or a body takes.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// At the peak, if it is run once.
    pub peak: Formula,
    /// If it is run once for each element: the bytes of scalars in one run,
    scalars: u64,
    /// and the numbers of elements in its vectors and sequences, with the bytes of each.
    streams: Vec<(Size, u64)>,
    /// If it is run once for each element: the bytes of vectors in one run.
    whole: Formula,
}

impl Memory {
    fn stream(&mut self, count: Size, bytes: u64) {
        if bytes == 0 {
            return;
        }
        match self.streams.iter_mut().find(|(c, _)| *c == count) {
            Some((_, b)) => *b += bytes,
            None => self.streams.push((count, bytes)),
        }
        if self.streams.len() > MOST_STREAMS {
            let bytes = self.streams.iter().map(|(_, b)| b).sum();
            let longest = self.streams.iter().fold(Formula::default(), |f, (c, _)| f.most(&c.clone().into()));
            self.streams = vec![(longest.merged(), bytes)];
        }
    }

    /// Both at once.
    pub fn beside(mut self, other: &Memory) -> Memory {
        self.peak = self.peak.plus(&other.peak);
        self.whole = self.whole.plus(&other.whole);
        self.scalars += other.scalars;
        other.streams.iter().for_each(|(c, b)| self.stream(c.clone(), *b));
        self
    }

    /// One after the other, or one of them.
    pub fn or(self, other: &Memory) -> Memory {
        let peak = self.peak.most(&other.peak);
        Memory { peak, ..self.beside(other) }
    }

    /// The memory of a value.
    pub fn of(ty: &Type, shape: &Shape, symbols: &Symbols) -> Memory {
        match (ty, shape) {
            (Type::Scalar(t), _) => {
                Memory { peak: Formula::number(width(*t)), scalars: width(*t), ..Memory::default() }
            }
            (Type::Array(a), Shape::Array(len, elem)) => {
                let inner = Memory::of(&a.elem, elem, symbols);
                let mut m = inner.over(&len.size, symbols);
                m.peak = symbols.sum_all(&len.size, &inner.peak);
                let ragged = elem.items().is_some_and(|(inner, _)| inner.size.mentions_pos(0) || !inner.exact);
                if ragged {
                    m.peak = m.peak.plus(&Formula::from(len.size.add(&1.into())).times(&Formula::number(8)));
                    m.stream(len.size.clone(), 8);
                }
                m.whole = m.peak.clone();
                m
            }
            (Type::Seq(t), Shape::Seq(len, elem)) => {
                let mut inner = Memory::of(t, elem, symbols);
                inner.scalars += 1;
                inner.over(&len.size, symbols)
            }
            _ => {
                let parts = ty.parts().unwrap_or_default();
                let shapes = parts.iter().enumerate().filter_map(|(k, t)| Some((t, shape.part(k as u32)?)));
                shapes.fold(Memory::default(), |m, (t, s)| m.beside(&Memory::of(t, s, symbols)))
            }
        }
    }

    /// The memory for one chunk of the positions below `count` of a binder.
    fn over(&self, count: &Size, symbols: &Symbols) -> Memory {
        let mut m = Memory { whole: symbols.most_all(count, &self.whole), ..Memory::default() };
        m.stream(count.clone(), self.scalars);
        self.streams.iter().for_each(|(c, bytes)| m.stream(symbols.sum(count, c), *bytes));
        m.peak = m.chunks();
        m
    }

    /// The memory for one chunk of the results of a body that runs at all these positions, the outermost first.
    pub fn lifted(&self, over: &[(Size, Body)], symbols: &Symbols) -> Memory {
        let mut m = self.clone();
        for (count, body) in over.iter().rev() {
            m.streams = m.streams.iter().map(|(c, b)| (close(c, *body), *b)).collect();
            m.whole = m.whole.map_variables(|w| close(w, *body));
            m = m.over(count, symbols);
        }
        m
    }

    /// The memory of any one round of a loop.
    pub fn in_turn(&self, over: &(Size, Body), symbols: &Symbols) -> Memory {
        let most = |f: &Formula| symbols.most_all(&over.0, &f.map_variables(|s| close(s, over.1)));
        let streams = self.streams.iter().map(|(c, b)| (symbols.most(&over.0, &close(c, over.1)), *b)).collect();
        Memory { peak: most(&self.peak), whole: most(&self.whole), scalars: self.scalars, streams }
    }

    /// `min(chunk, count)` of every stream, and the largest vectors of every thread.
    fn chunks(&self) -> Formula {
        let chunk = Size::var(CHUNK);
        let whole = self.whole.times(&Size::var(THREADS).into());
        self.streams.iter().fold(whole, |f, (count, bytes)| f.plus(&chunk.lesser(count).scale(*bytes as i128).into()))
    }

    /// A copy for each thread.
    pub fn for_each_thread(&self) -> Memory {
        let threads = Formula::from(Size::var(THREADS));
        Memory { peak: self.peak.times(&threads), whole: self.whole.times(&threads), ..self.clone() }
    }

    /// The same with names for large formulas.
    pub fn named(self, symbols: &mut Symbols) -> Memory {
        let (peak, whole) = (symbols.named(self.peak), symbols.named(self.whole));
        let streams = self.streams.iter().map(|(c, b)| (symbols.named_size(c), *b)).collect();
        Memory { peak, whole, streams, ..self }
    }

    /// Rewrites all formulas in it.
    pub fn map(&self, f: &mut dyn FnMut(&Size) -> Size) -> Memory {
        let (peak, whole) = (self.peak.map_variables(&mut *f), self.whole.map_variables(&mut *f));
        let mut m = Memory { peak, whole, scalars: self.scalars, streams: Vec::new() };
        self.streams.iter().for_each(|(c, b)| m.stream(f(c), *b));
        m
    }
}

/// The memory of statements in order, given for each its memory while it runs, including its result, and that of its result alone.
pub fn in_order(stmts: &[(Memory, Memory)], symbols: &mut Symbols) -> Memory {
    let mut all = Memory::default();
    for (running, value) in stmts.iter().rev() {
        let peak = running.peak.most(&value.peak.plus(&all.peak));
        all = Memory { peak, ..all.beside(running) }.named(symbols);
    }
    all
}

fn width(t: ScalarType) -> u64 {
    t.bytes() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::shape::Bound;
    use deckle_ir::text::{parse_size, parse_type};

    fn bytes(ty: &str, shape: Shape) -> String {
        Memory::of(&parse_type(ty).unwrap(), &shape, &Symbols::new()).peak.size().to_string()
    }

    fn bound(text: &str) -> Bound {
        Bound::exact(parse_size(text).unwrap())
    }

    #[test]
    fn vectors_are_there_in_full() {
        let flat = Shape::Array(bound("n5"), Box::new(Shape::UNKNOWN));
        assert_eq!(bytes("[f64; n5]", flat.clone()), "8*n5");
        assert_eq!(bytes("[u8; n5]", flat), "n5");
        let rows =
            |inner: &str| Shape::Array(bound("n5"), Box::new(Shape::Array(bound(inner), Box::new(Shape::UNKNOWN))));
        assert_eq!(bytes("[[f32; n6]; n5]", rows("n6")), "4*n5*n6");
        assert_eq!(bytes("[i0 -> [f32; n6(i0)]; n5]", rows("n6(#0)")), "8*n5 + 4*sum(i0 < n5: n6(i0)) + 8");
    }

    #[test]
    fn sequences_are_there_in_chunks() {
        let flat = Shape::Seq(bound("n5"), Box::new(Shape::UNKNOWN));
        assert_eq!(bytes("{f64}", flat.clone()), "9*min(n0, n5)");
        assert_eq!(bytes("{{f64}}", Shape::Seq(bound("n6"), Box::new(flat))), "9*min(n0, n5*n6) + min(n0, n6)");
        let vectors = Shape::Seq(bound("n5"), Box::new(Shape::Array(bound("n6"), Box::new(Shape::UNKNOWN))));
        assert_eq!(bytes("{[f64; n6]}", vectors), "8*n1*n6 + min(n0, n5) + 8*min(n0, n5*n6)");
    }
}
