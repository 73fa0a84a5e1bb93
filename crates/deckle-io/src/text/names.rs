//! Types and signatures in the notation of the script language.

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
}
