//! What the functions of a module share.

use super::Options;
use deckle_ir::loops::Function;
use deckle_ir::loops::Gathers;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What the text is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Host,
    Nvptx,
}

/// How wide vectors may be that LLVM makes itself, in bits. Processors without such registers use what they have.
const VECTOR_BITS: u32 = 512;

/// Powers of integers, modulo 2⁶⁴ and therefore right in all lower bits; the exponent is unsigned.
const POWER: &str = "
define internal i64 @deckle.pow(i64 %base, i64 %exponent) #1 {
  br label %head
head:
  %b = phi i64 [ %base, %0 ], [ %square, %next ]
  %e = phi i64 [ %exponent, %0 ], [ %half, %next ]
  %p = phi i64 [ 1, %0 ], [ %product, %next ]
  %done = icmp eq i64 %e, 0
  br i1 %done, label %end, label %next
next:
  %bit = and i64 %e, 1
  %odd = icmp ne i64 %bit, 0
  %factor = select i1 %odd, i64 %b, i64 1
  %product = mul i64 %p, %factor
  %square = mul i64 %b, %b
  %half = lshr i64 %e, 1
  br label %head
end:
  ret i64 %p
}
";

/// A module under construction.
pub(super) struct Module {
    pub(super) target: Target,
    pub(super) gathers: Gathers,
    /// Whether accesses are checked.
    pub(super) checked: bool,
    /// See [`super::Options::strip`].
    pub(super) strip: i64,
    globals: String,
    functions: String,
    declarations: BTreeSet<String>,
    /// Names of helpers that were written.
    helpers: BTreeSet<String>,
    metadata: Vec<String>,
    /// The nodes that say something of kernels.
    annotations: Vec<String>,
}

impl Module {
    pub(super) fn new(target: Target, options: Options) -> Module {
        let Options { gathers, checked, strip } = options;
        Module {
            target,
            gathers,
            checked,
            strip,
            globals: String::new(),
            functions: String::new(),
            declarations: BTreeSet::new(),
            helpers: BTreeSet::new(),
            metadata: Vec::new(),
            annotations: Vec::new(),
        }
    }

    /// Makes sure that a function is declared, by the text after `declare`.
    pub(super) fn declare(&mut self, declaration: String) {
        self.declarations.insert(declaration);
    }

    /// Whether a helper was not asked for before.
    pub(super) fn is_new(&mut self, helper: &str) -> bool {
        self.helpers.insert(helper.to_string())
    }

    /// Makes sure that `@deckle.pow` is there.
    pub(super) fn need_power(&mut self) {
        if self.is_new("@deckle.pow") {
            self.functions.push_str(POWER);
        }
    }

    pub(super) fn global(&mut self, text: &str) {
        self.globals.push_str(text);
        self.globals.push('\n');
    }

    pub(super) fn function(&mut self, text: &str) {
        self.functions.push('\n');
        self.functions.push_str(text);
    }

    /// Adds a metadata node, whose text may depend on its number.
    pub(super) fn node(&mut self, text: impl FnOnce(usize) -> String) -> usize {
        let number = self.metadata.len();
        let text = text(number);
        // Only nodes that refer to themselves are distinct from others of the same text.
        match self.metadata.iter().position(|t| !text.starts_with("distinct") && *t == text) {
            Some(same) => same,
            None => {
                self.metadata.push(text);
                number
            }
        }
    }

    /// A number that the driver's compiler is given for a kernel.
    pub(super) fn annotate(&mut self, symbol: &str, name: &str, number: u32) {
        let node = self.node(|_| format!("!{{ptr @{symbol}, !\"{name}\", i32 {number}}}"));
        self.annotations.push(format!("!{node}"));
    }

    pub(super) fn finish(self) -> String {
        let mut out = String::new();
        if self.target == Target::Nvptx {
            out.push_str("target triple = \"nvptx64-nvidia-cuda\"\n");
        }
        out.push_str(&self.globals);
        out.push_str(&self.functions);
        out.push('\n');
        for d in &self.declarations {
            let _ = writeln!(out, "declare {d}");
        }
        let vectors = match self.target {
            Target::Host => format!(" \"prefer-vector-width\"=\"{VECTOR_BITS}\""),
            Target::Nvptx => String::new(),
        };
        let _ = writeln!(out, "\nattributes #0 = {{ nounwind \"no-trapping-math\"=\"true\"{vectors} }}");
        let _ = writeln!(
            out,
            "attributes #1 = {{ nounwind willreturn memory(none) \"no-trapping-math\"=\"true\"{vectors} }}"
        );
        if !self.annotations.is_empty() {
            let _ = writeln!(out, "!nvvm.annotations = !{{{}}}", self.annotations.join(", "));
        }
        for (number, text) in self.metadata.iter().enumerate() {
            let _ = writeln!(out, "!{number} = {text}");
        }
        out
    }
}

/// The name of a function as it stands after `@`.
pub(super) fn symbol(function: &Function) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let name: String = function.name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("_{name}") } else { name }
}
