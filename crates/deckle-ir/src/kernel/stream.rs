//! Streams: loops of the host that traverse sequences in chunks.
//!
//! A stream is a [`Step::While`] that names its interface to the outside. The host reads this and derives nothing: it chooses the size of a chunk before each round, reads ahead for the
//! sources, and holds back what a round pushes to the sinks until the round is done. A round that fails is repeated from a *checkpoint*, which is exactly the state.
//!
//! ```text
//! stream b3 pulls (0) pushes (0) state (b1, b2) {     b3: the size of a chunk
//!   t7: bool @s0 = load b1[t0]
//! } t7 {
//!   t8: i64 @s0 = load b3[t0]
//!   pull [b5; t9] = 0 some of t8
//!   ...
//!   push 0 = [b6; t9]
//!   bind (b1 = b7, b2 = b8)
//! }
//! ```
//!
//! # Invariants
//! - The sources and sinks are the parameters pulled and the results pushed by the steps inside. Steps outside pull and push only sources and sinks of some stream.
//! - A buffer that a round passes to the next one is a part of the state. All others that a round allocates are allocated anew in each.
//! - The buffers that a round writes are bound in the stream, so that a checkpoint can keep their earlier memory.
//! - Streams are not nested.

use super::*;
use std::collections::BTreeSet;

/// The interface of a loop that traverses sequences in chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The parameter in which the host passes the maximal number of elements of the next chunk, an `i64`.
    pub chunk: Buf,
    /// The parameters that are pulled inside.
    pub sources: BTreeSet<u32>,
    /// The numbers of the results that are pushed inside.
    pub sinks: BTreeSet<u32>,
    /// The buffers that a round passes to the next.
    pub state: BTreeSet<Buf>,
}

impl Stream {
    /// A stream in chunks of this size, with nothing else set yet.
    pub fn new(chunk: Buf) -> Stream {
        Stream { chunk, sources: BTreeSet::new(), sinks: BTreeSet::new(), state: BTreeSet::new() }
    }
}

impl Program {
    /// The streams of the program, in the order of the text.
    pub fn streams(&self) -> Vec<&Stream> {
        let mut all = Vec::new();
        each(&self.steps, &mut |step| {
            if let Step::While { stream: Some(stream), .. } = step {
                all.push(stream);
            }
        });
        all
    }
}

/// Visits steps, and those inside them.
fn each<'p>(steps: &'p [Step], see: &mut dyn FnMut(&'p Step)) {
    for step in steps {
        see(step);
        if let Step::If(_, a, b) | Step::While { test: a, body: b, .. } = step {
            each(a, see);
            each(b, see);
        }
    }
}

/// The actions of steps that a stream names.
#[derive(Default)]
struct Flow {
    pulls: BTreeSet<u32>,
    pushes: BTreeSet<u32>,
    /// The buffers that kernels write to.
    writes: BTreeSet<Buf>,
    has_streams: bool,
}

impl Flow {
    fn add(&mut self, steps: &[Step]) {
        each(steps, &mut |step| match step {
            Step::Pull { param, .. } => drop(self.pulls.insert(*param)),
            Step::Push { to, .. } => drop(self.pushes.insert(*to)),
            Step::Run(kernel) => kernel.sinks.iter().for_each(|sink| match sink {
                Sink::Write { buf, .. } => drop(self.writes.insert(*buf)),
                Sink::Scatter { bufs, .. } => self.writes.extend(bufs),
                Sink::Check(_) => {}
            }),
            Step::While { stream: Some(_), .. } => self.has_streams = true,
            _ => {}
        });
    }
}

/// Checks that streams name the actions of their steps.
pub(super) fn check(program: &Program, wrong: &mut Vec<String>) {
    let (mut all, mut sources, mut sinks) = (Flow::default(), BTreeSet::new(), BTreeSet::new());
    all.add(&program.steps);
    each(&program.steps, &mut |step| {
        if let Step::While { stream: Some(stream), test, body, .. } = step {
            let mut inside = Flow::default();
            inside.add(test);
            inside.add(body);
            one(program, stream, &inside, &program.step_uses(step), wrong);
            sources.extend(&stream.sources);
            sinks.extend(&stream.sinks);
        }
    });
    let outside = |what: &str, how: &str, k: &u32| format!("{what} {k} is {how}, and no stream names it");
    wrong.extend(all.pulls.difference(&sources).map(|k| outside("parameter", "pulled", k)));
    wrong.extend(all.pushes.difference(&sinks).map(|k| outside("result", "pushed", k)));
    let params = program.params.len() as u32;
    wrong.extend(all.pulls.range(params..).map(|k| format!("parameter {k} is pulled, and there are {params}")));
}

/// Checks a stream against its steps.
fn one(program: &Program, stream: &Stream, inside: &Flow, uses: &StepUses, wrong: &mut Vec<String>) {
    let chunk = stream.chunk;
    let made = uses.made_inside();
    let is_param = program.params.iter().any(|rep| matches!(rep, Rep::Scalar(b) if *b == chunk));
    if !is_param || program.bufs[chunk.index()].elem != ScalarType::I64 {
        wrong.push(format!("a stream has chunks of {chunk}, which is no parameter of type i64"));
    }
    if made.contains(&chunk) {
        wrong.push(format!("the stream of {chunk} changes {chunk}"));
    }
    if inside.has_streams {
        wrong.push(format!("the stream of {chunk} has a stream inside"));
    }
    for (what, how, done, named) in
        [("parameter", "pulled", &inside.pulls, &stream.sources), ("result", "pushed", &inside.pushes, &stream.sinks)]
    {
        let unnamed = |k: &u32| format!("{what} {k} is {how} in the stream of {chunk}, which does not name it");
        let unused = |k: &u32| format!("the stream of {chunk} names {what} {k}, which is not {how} in it");
        wrong.extend(done.difference(named).map(unnamed));
        wrong.extend(named.difference(done).map(unused));
    }
    for b in made.intersection(&uses.all.needs).filter(|b| **b != chunk && !stream.state.contains(b)) {
        wrong.push(format!("a round of the stream of {chunk} leaves {b} to the next, which is not in its state"));
    }
    for b in stream.state.difference(&made) {
        wrong.push(format!("{b} is in the state of the stream of {chunk}, which does not change it"));
    }
    for b in inside.writes.difference(&made) {
        wrong.push(format!("the stream of {chunk} writes to {b}, which is made outside"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with one stream: its head, and the text between its two bodies and after it.
    fn program(head: &str, body: &str, behind: &str) -> String {
        format!(
            "b0: i64 chunk\nb1: i64 [t1] position\nb4: i64 [t1] size\nb5: f64 xs\nb9: f64 [t1] total
t0: i64 @s0 = const 0i64\nt1: i64 @s0 = const 1i64\nparams ((), b0, b1, b9)
stream {head} {{\nt2: i64 @s0 = load b1[t0]\nt3: i64 @s0 = load b0[t0]\nt4: bool @s0 = lt(t2, t3)\n}} t4 {{
t5: i64 @s0 = load b4[t0]\npull [b5; t5] = 0 some of t3\npush 0 = [b5; t5]\nbind (b1 = b4)\n{body}\n}}\n{behind}\nresult b1"
        )
    }

    const HEAD: &str = "b0 pulls (0) pushes (0) state (b1)";

    fn faults(head: &str, body: &str, behind: &str) -> Vec<String> {
        let text = program(head, body, behind);
        let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let again = program.to_string();
        assert_eq!(parse(&again).map(|p| p.to_string()), Ok(again));
        verify(&program).err().unwrap_or_default()
    }

    #[test]
    fn a_stream_that_names_what_it_does_is_fine() {
        assert_eq!(faults(HEAD, "", ""), [""; 0]);
        let made = "alloc b6: i64 [t1] x\nkernel k {\nwrite @s0 b6[t0] = t1\n}";
        assert_eq!(faults(HEAD, made, "pull [b5; t5] = 0 all of t3\npush 0 = [b5; t5]"), [""; 0]);
        let program = parse(&program(HEAD, "", "")).unwrap();
        let (sources, sinks, state) = (BTreeSet::from([0]), BTreeSet::from([0]), BTreeSet::from([Buf(1)]));
        assert_eq!(program.streams(), [&Stream { chunk: Buf(0), sources, sinks, state }]);
    }

    #[test]
    fn the_size_of_a_chunk_is_a_parameter_that_stays() {
        let of = |chunk: &str| faults(&HEAD.replace("b0", chunk), "", "");
        assert_eq!(
            of("b4"),
            ["a stream has chunks of b4, which is no parameter of type i64", "the stream of b4 changes b4"]
        );
        assert_eq!(of("b9"), ["a stream has chunks of b9, which is no parameter of type i64"]);
    }

    #[test]
    fn sources_are_pulled_and_what_is_pulled_is_a_source() {
        let of = |sources: &str| faults(&HEAD.replace("pulls (0)", &format!("pulls ({sources})")), "", "");
        assert_eq!(of("0, 2"), ["the stream of b0 names parameter 2, which is not pulled in it"]);
        let unnamed = "parameter 0 is pulled in the stream of b0, which does not name it";
        assert_eq!(of(""), [unnamed, "parameter 0 is pulled, and no stream names it"]);
        assert_eq!(
            faults(HEAD, "", "pull [b5; t5] = 7 all of t3"),
            ["parameter 7 is pulled, and no stream names it", "parameter 7 is pulled, and there are 4"]
        );
    }

    #[test]
    fn sinks_are_pushed_and_what_is_pushed_is_a_sink() {
        let of = |sinks: &str| faults(&HEAD.replace("pushes (0)", &format!("pushes ({sinks})")), "", "");
        assert_eq!(of("0, 1"), ["the stream of b0 names result 1, which is not pushed in it"]);
        let unnamed = "result 0 is pushed in the stream of b0, which does not name it";
        assert_eq!(of(""), [unnamed, "result 0 is pushed, and no stream names it"]);
        assert_eq!(faults(HEAD, "", "push 3 = [b5; t5]"), ["result 3 is pushed, and no stream names it"]);
    }

    #[test]
    fn the_state_is_what_a_round_leaves_to_the_next() {
        let of = |state: &str| faults(&HEAD.replace("(b1)", &format!("({state})")), "", "");
        assert_eq!(of(""), ["a round of the stream of b0 leaves b1 to the next, which is not in its state"]);
        assert_eq!(of("b1, b9"), ["b9 is in the state of the stream of b0, which does not change it"]);
        let total = "kernel k {\nt9: f64 @s0 = load b9[t0]\nwrite @s0 b9[t0] = t9\n}";
        assert_eq!(faults(HEAD, total, ""), ["the stream of b0 writes to b9, which is made outside"]);
    }

    #[test]
    fn a_stream_is_in_no_other() {
        let inner = "stream b0 pulls () pushes () state (b5) {\n} t4 {\nfree b5\n}";
        assert_eq!(faults(HEAD, inner, ""), ["the stream of b0 has a stream inside"]);
        assert_eq!(faults(HEAD, "while {\n} t4 {\nfree b5\n}", ""), [""; 0]);
    }
}
