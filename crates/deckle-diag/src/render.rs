//! placeholder
use crate::{Diagnostic, SourceMap};
/// Renders.
pub fn render(_d: &Diagnostic, _s: &SourceMap, _color: bool) -> String {
    String::new()
}
