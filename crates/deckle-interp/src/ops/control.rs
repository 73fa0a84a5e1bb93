//! Branches and loops.

use super::{int, truth};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::value::Value;

pub(super) fn if_(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let which = if truth(cx, &args[0])? { 0 } else { 1 };
    cx.body(which, Place::Once, &[])
}

pub(super) fn while_(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut state = args[0].clone();
    let mut step = 0;
    loop {
        let go = cx.body(0, Place::Step(step), std::slice::from_ref(&state))?;
        if !truth(cx, &go)? {
            return Ok(state);
        }
        state = cx.body(1, Place::Step(step), &[state])?;
        step += 1;
    }
}

pub(super) fn for_(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = int(cx, &args[0])?;
    let mut state = args[1].clone();
    for i in 0..n {
        state = cx.body(0, Place::Step(i), &[Value::int(i), state])?;
    }
    Ok(state)
}
