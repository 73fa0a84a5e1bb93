//! Arguments as they are written, `NAME=VALUE` and `NAME=@FILE`, matched with the parameters of a function.

use crate::{Input, Outcome, file};
use deckle_diag::{Code, Diagnostic, SourceMap, Span, closest};
use deckle_io::stream::is_flat;
use deckle_io::text::{self, Wrong, parameters, records, type_name};
use deckle_io::tree;
use deckle_ir::array::Function;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::Pool;
use std::path::Path;

/// A tree for each parameter.
///
/// # Errors
/// Everything that is wrong with the arguments.
pub fn values(name: &str, function: &Function, given: &[String], sources: &mut SourceMap) -> Outcome<Vec<Value>> {
    each(name, function, given, |parameter, ty, text| value(parameter, ty, text, sources))
}

/// An argument for each parameter: what is written in flat memory of a pool, files opened and not read.
///
/// # Errors
/// Everything that is wrong with the arguments.
pub fn inputs(
    name: &str,
    function: &Function,
    given: &[String],
    pool: &Pool,
    sources: &mut SourceMap,
) -> Outcome<Vec<Input>> {
    each(name, function, given, |parameter, ty, text| match (text.strip_prefix('@').map(Path::new), ty) {
        (Some(path), Type::Seq(_)) => file::open(parameter, ty, path).map(Input::Stream),
        (Some(path), _) if is_flat(path, ty) => file::open_whole(parameter, ty, path).map(Input::Stream),
        _ => {
            let value = value(parameter, ty, text, sources)?;
            let flat = tree::flat(ty, [&value], pool, &format!("argument `{parameter}`"));
            flat.map(Input::Data).map_err(|e| Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))
        }
    })
}

/// Something for each parameter, made of its type and what is written for it.
fn each<T>(
    name: &str,
    function: &Function,
    given: &[String],
    mut bind: impl FnMut(&str, &Type, &str) -> Result<T, Diagnostic>,
) -> Outcome<Vec<T>> {
    let mut texts: Vec<Option<&str>> = vec![None; function.param_names.len()];
    let mut faults = Vec::new();
    for argument in given {
        match place(function, argument) {
            Err(fault) => faults.push(fault),
            Ok((index, _)) if texts[index].is_some() => {
                let message = format!("the argument `{}` is given twice", function.param_names[index]);
                faults.push(Diagnostic::nowhere(Code::BadArgument, message));
            }
            Ok((index, text)) => texts[index] = Some(text),
        }
    }
    faults.extend(missing(name, function, &texts));
    if let Some(last) = faults.last_mut() {
        last.notes.push(takes(name, function));
    }
    let mut values = Vec::new();
    for ((parameter, var), text) in function.param_names.iter().zip(function.params()).zip(texts) {
        match text.map(|text| bind(parameter, function.ty(*var), text)) {
            Some(Ok(value)) => values.push(value),
            Some(Err(fault)) => faults.push(fault),
            None => {}
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// Which parameter an argument is for, and its value as written.
fn place<'a>(function: &Function, argument: &'a str) -> Result<(usize, &'a str), Diagnostic> {
    let names = &function.param_names;
    let bad = |message: String| Diagnostic::nowhere(Code::BadArgument, message);
    let Some((name, text)) = argument.split_once('=') else {
        let fault = bad(format!("the argument `{argument}` has no name"));
        return Err(match names.first() {
            Some(first) => fault.help(format!("write `{first}={argument}`")),
            None => fault,
        });
    };
    let name = name.trim();
    names.iter().position(|n| n == name).map(|index| (index, text)).ok_or_else(|| {
        let fault = bad(format!("there is no parameter `{name}`"));
        match closest(name, names.iter().map(String::as_str)) {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None => fault,
        }
    })
}

fn missing(name: &str, function: &Function, texts: &[Option<&str>]) -> Option<Diagnostic> {
    let missing: Vec<String> = parameters(function)
        .into_iter()
        .zip(texts)
        .filter(|(_, text)| text.is_none())
        .map(|(parameter, _)| format!("`{parameter}`"))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let fault = Diagnostic::nowhere(Code::BadArgument, format!("`{name}` is not given {}", missing.join(", ")));
    let first = texts.iter().position(Option::is_none)?;
    let (first, ty) = (&function.param_names[first], function.ty(function.params()[first]));
    let argument = quote(&format!("{first}={}", text::example(ty)));
    Some(fault.help(format!("write {argument}, say, or {first}=@FILE for a value in a file")))
}

/// The parameters, for a note.
fn takes(name: &str, function: &Function) -> String {
    let parameters = parameters(function);
    if parameters.is_empty() {
        return format!("`{name}` takes no arguments");
    }
    let lines: Vec<String> = parameters.into_iter().chain(records(function)).collect();
    format!("`{name}` takes\n  {}", lines.join("\n  "))
}

fn value(name: &str, ty: &Type, text: &str, sources: &mut SourceMap) -> Result<Value, Diagnostic> {
    if let Some(path) = text.strip_prefix('@') {
        return file::load(name, ty, Path::new(path), sources);
    }
    text::parse(text, ty).map_err(|w| misfit(name, ty, w, &format!("argument {name}"), text, sources))
}

/// An argument as a shell would read it.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=@:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The diagnostic of a text that is no value of the type, with the place in it.
pub(crate) fn misfit(
    name: &str,
    ty: &Type,
    wrong: Wrong,
    shown: &str,
    text: &str,
    sources: &mut SourceMap,
) -> Diagnostic {
    let file = sources.add(shown, text);
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = Span::new(file, byte(wrong.range.0), byte(wrong.range.1));
    let message = format!("this is no value for `{name}: {}`", type_name(ty));
    let d = Diagnostic::new(Code::BadArgument, message, span, wrong.message);
    match wrong.help {
        Some(help) => d.help(help),
        None => d,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::array::{BodyData, Def, VarData};
    use deckle_ir::entity::{Body, Var};
    use deckle_ir::scalar::ScalarType;

    /// A function of these parameters, which returns the first.
    fn function(params: &[(&str, Type)]) -> Function {
        let vars = params.iter().enumerate().map(|(i, (_, ty))| VarData {
            ty: ty.clone(),
            def: Def::Param(Body(0), i as u32),
            span: Span::NONE,
            name: None,
        });
        let params_of_body = (0..params.len() as u32).map(Var).collect();
        Function {
            name: "f".into(),
            param_names: params.iter().map(|p| p.0.to_string()).collect(),
            span: Span::NONE,
            sizes: vec![],
            size_names: vec![],
            vars: vars.collect(),
            bodies: vec![BodyData { first: Var(0), params: params_of_body, stmts: vec![], result: Var(0) }],
        }
    }

    fn bind(given: &[&str]) -> Outcome<Vec<Value>> {
        let f = function(&[("count", Type::INT), ("scale", ScalarType::F64.into())]);
        let given: Vec<String> = given.iter().map(|s| s.to_string()).collect();
        values("f", &f, &given, &mut SourceMap::new())
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        assert_eq!(quote("x=@a.npy"), "x=@a.npy");
        assert_eq!(quote("x=[1, 2]"), "'x=[1, 2]'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn arguments_come_in_any_order() {
        assert_eq!(bind(&["scale=2", "count=1"]).unwrap(), [Value::int(1), Value::real(2.0)]);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let faults = bind(&["cuont=1", "5", "scale=x", "scale=2"]).unwrap_err();
        let messages: Vec<&str> = faults.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "there is no parameter `cuont`",
                "the argument `5` has no name",
                "the argument `scale` is given twice",
                "`f` is not given `count: int`",
                "this is no value for `scale: real`",
            ]
        );
        assert_eq!(faults[0].helps, ["did you mean `count`?"]);
        assert_eq!(faults[3].notes, ["`f` takes\n  count: int\n  scale: real"]);
        assert!(faults.iter().all(|d| d.code == Code::BadArgument));
    }
}
