//! A maker and a weight for each operator of the table.

mod construct;
mod control;
mod fold;
mod moving;
mod scalar;
mod sequence;
mod shape;

use crate::generate::Gen;
use deckle_ir::entity::Var;

/// How an operator is generated.
pub(crate) struct Choice {
    /// Its name in the table.
    pub name: &'static str,
    /// Its weight against others.
    pub weight: u32,
    /// Whether it has bodies.
    pub bodies: bool,
    /// Whether it only produces or takes sequences.
    pub stream: bool,
    /// Adds it, with its operands. An attempt that returns `None` is undone.
    pub make: fn(&mut Gen<'_>) -> Option<Var>,
}

const fn plain(name: &'static str, weight: u32, make: fn(&mut Gen<'_>) -> Option<Var>) -> Choice {
    Choice { name, weight, bodies: false, stream: false, make }
}

const fn nest(name: &'static str, weight: u32, make: fn(&mut Gen<'_>) -> Option<Var>) -> Choice {
    Choice { name, weight, bodies: true, stream: false, make }
}

const fn stream(name: &'static str, weight: u32, make: fn(&mut Gen<'_>) -> Option<Var>) -> Choice {
    Choice { name, weight, bodies: false, stream: true, make }
}

const fn stream_nest(name: &'static str, weight: u32, make: fn(&mut Gen<'_>) -> Option<Var>) -> Choice {
    Choice { name, weight, bodies: true, stream: true, make }
}

/// One for each operator.
pub(crate) const CHOICES: &[Choice] = &[
    plain("const", 3, scalar::constant),
    plain("unary", 14, scalar::unary),
    plain("binary", 22, scalar::binary),
    plain("cast", 5, scalar::cast),
    plain("select", 4, scalar::select),
    plain("fma", 4, scalar::fma),
    plain("tuple", 4, scalar::tuple),
    plain("record", 2, scalar::record),
    plain("proj", 10, scalar::proj),
    plain("index", 9, scalar::index),
    nest("if", 8, control::branch),
    nest("while", 3, control::repeat),
    nest("for", 4, control::count),
    plain("call", 16, control::call),
    plain("ensure", 5, control::ensure),
    plain("use", 2, construct::host),
    plain("array", 4, construct::array),
    plain("replicate", 5, construct::replicate),
    nest("generate", 8, construct::generate),
    plain("iota", 5, construct::iota),
    plain("range", 3, construct::range),
    nest("map", 26, construct::map),
    plain("zip", 8, construct::zip),
    plain("unzip", 6, construct::unzip),
    plain("length", 5, shape::length),
    plain("shape", 3, shape::shape),
    plain("size", 3, shape::size),
    plain("reshape", 4, shape::reshape),
    plain("flatten", 9, shape::flatten),
    plain("split", 5, shape::split),
    plain("slice", 6, shape::slice),
    plain("transpose", 5, shape::transpose),
    plain("reverse", 5, shape::reverse),
    plain("take", 4, shape::take),
    plain("drop", 4, shape::drop),
    plain("concat", 6, shape::concat),
    plain("pad", 4, shape::pad),
    nest("permute", 5, moving::permute),
    plain("scatter", 4, moving::scatter),
    nest("filter", 6, moving::filter),
    plain("compact", 4, moving::compact),
    nest("partition", 4, moving::partition),
    nest("expand", 6, moving::expand),
    plain("sort", 4, moving::sort),
    nest("sort_by", 4, moving::sort_by),
    nest("group_by", 5, moving::group_by),
    nest("fold", 7, fold::fold),
    nest("fold1", 4, fold::fold1),
    nest("fold_ordered", 4, fold::fold_ordered),
    plain("reduce", 9, fold::reduce),
    nest("scan", 7, fold::scan),
    nest("scan_ordered", 4, fold::scan_ordered),
    nest("stencil", 5, moving::stencil),
    stream("mkseq", 4, sequence::mkseq),
    stream("empty", 3, sequence::empty),
    stream("the", 4, sequence::the),
    stream("append", 5, sequence::append),
    stream_nest("flagpart", 5, sequence::flagpart),
    stream("tab", 16, sequence::tab),
    stream("seq", 8, sequence::seq),
    stream_nest("guard", 5, sequence::guard),
    stream_nest("produce", 6, sequence::produce),
    stream("tiles", 4, sequence::tiles),
    stream("tabulate", 4, sequence::tabulate),
];

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::array::Op;

    #[test]
    fn every_operator_of_the_table_has_a_maker() {
        let makers: Vec<&str> = CHOICES.iter().map(|c| c.name).collect();
        let table = || Op::TABLE.iter().filter(|info| !Op::OF_THE_COMPILER.contains(&info.name));
        assert_eq!(makers, table().map(|info| info.name).collect::<Vec<_>>());
        assert!(CHOICES.iter().zip(table()).all(|(c, info)| c.bodies || info.bodies.0 == 0));
    }
}
