//! Transcendental functions: those of the C library, one lane at a time. For `f32` they are computed in `f64` and rounded once, as
//! `scalar_eval` does.

use super::function::Writer;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::Ty;
use deckle_ir::scalar::ScalarType;

impl Writer<'_> {
    pub(super) fn transcendental(&mut self, op: UnOp, ty: Ty, x: &str) -> String {
        self.library(op.name(), ty, &[x])
    }

    pub(super) fn transcendental_of_two(&mut self, op: BinOp, ty: Ty, x: &str, y: &str) -> String {
        self.library(op.name(), ty, &[x, y])
    }

    /// Operators have the names that the C library gives them.
    fn library(&mut self, name: &str, ty: Ty, operands: &[&str]) -> String {
        let params = vec!["double"; operands.len()].join(", ");
        self.module.declare(format!("double @{name}({params}) #1"));
        let narrow = ty.scalar == ScalarType::F32;
        self.by_lane(ty, operands, |w, lane| {
            let wide: Vec<String> = lane
                .iter()
                .map(|x| if narrow { w.op(format!("fpext float {x} to double")) } else { x.clone() })
                .map(|x| format!("double {x}"))
                .collect();
            let result = w.op(format!("call double @{name}({})", wide.join(", ")));
            if narrow { w.op(format!("fptrunc double {result} to float")) } else { result }
        })
    }
}
