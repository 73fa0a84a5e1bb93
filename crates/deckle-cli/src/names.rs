//! Types, signatures and likely meanings of misspelt names, in the words of the script language.

use deckle_ir::array::Function;
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;

/// A type as it is written in a script. Sizes appear where they are numbers.
pub fn type_name(ty: &Type) -> String {
    match ty {
        Type::Scalar(s) => scalar_name(*s).to_string(),
        Type::Tuple(parts) => format!("({})", parts.iter().map(type_name).collect::<Vec<_>>().join(", ")),
        Type::Record(r) => r.name.clone(),
        Type::Seq(elem) => format!("{{{}}}", type_name(elem)),
        Type::Array(a) => match a.size.as_constant() {
            Some(n) => format!("[{}; {n}]", type_name(&a.elem)),
            None => format!("[{}]", type_name(&a.elem)),
        },
    }
}

/// A scalar type as it is written in a script.
pub fn scalar_name(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I64 => "int",
        ScalarType::F64 => "real",
        other => other.name(),
    }
}

/// `name: type`, for each parameter.
pub fn parameters(function: &Function) -> Vec<String> {
    let types = function.params().iter().map(|v| type_name(function.ty(*v)));
    function.param_names.iter().zip(types).map(|(name, ty)| format!("{name}: {ty}")).collect()
}

/// `name(parameters): result`.
pub fn signature(name: &str, function: &Function) -> String {
    format!("{name}({}): {}", parameters(function).join(", "), type_name(function.result_type()))
}

/// The fields of every record in the parameters, a line each.
pub fn records(function: &Function) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending: Vec<&Type> = function.params().iter().rev().map(|v| function.ty(*v)).collect();
    while let Some(ty) = pending.pop() {
        if let Type::Record(r) = ty {
            let fields: Vec<String> = r.fields.iter().map(|(n, t)| format!("{n}: {}", type_name(t))).collect();
            let line = format!("{} = {{ {} }}", r.name, fields.join(", "));
            if lines.contains(&line) {
                continue;
            }
            lines.push(line);
        }
        pending.extend(ty.elem());
        pending.extend(ty.parts().into_iter().flatten());
    }
    lines
}

/// The candidate that was probably meant by `word`.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let len = |s: &str| s.chars().count();
    let far = len(word).div_ceil(3);
    let near = |(d, c): &(usize, &str)| *d <= far && *d < len(word).min(len(c));
    candidates.into_iter().map(|c| (distance(word, c), c)).filter(near).min_by_key(|(d, _)| *d).map(|p| p.1)
}

/// How many characters must be put in, left out or changed. Upper and lower case count as the same.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::entity::SizeVar;
    use deckle_ir::size::Size;

    #[test]
    fn types_read_as_in_scripts() {
        let row = Type::array(Size::var(SizeVar(0)), ScalarType::F64.into());
        assert_eq!(type_name(&row), "[real]");
        assert_eq!(type_name(&Type::array(3.into(), row.clone())), "[[real]; 3]");
        assert_eq!(type_name(&Type::seq(Type::INT)), "{int}");
        assert_eq!(type_name(&Type::tuple(vec![Type::BOOL, ScalarType::F32.into()])), "(bool, f32)");
        assert_eq!(type_name(&Type::tuple(vec![])), "()");
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(closest("wieghts", ["weights", "x"]), Some("weights"));
        assert_eq!(closest("N", ["n", "k"]), Some("n"));
        assert_eq!(closest("cuont", ["count"]), Some("count"));
        assert_eq!(closest("x", ["n"]), None);
        assert_eq!(closest("abc", ["xyz"]), None);
        assert_eq!(closest("", ["xyz"]), None);
    }
}
