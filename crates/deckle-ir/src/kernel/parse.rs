//! Reading the text form of the kernel IR, which the printer describes.
//!
//! ```text
//! program  = { line } "params" "(" rep, ... ")" { line } "result" rep { "note" name }
//! line     = buffer | "data" b "[" scalar, ... "]" | c "=" fault {"in" place} | define | step
//! buffer   = b ":" type [ "[" t "]" ] name
//! define   = s "=" space | t ":" type "@" s "=" node
//! space    = "dim" s "," t | "rows" s "," b "," t | "guard" s "," [ "not" ] t | "loop" s | "lambda" s
//! node     = "const" scalar | "pos" | "var" number | op "(" t, ... ")" | "cast" type "(" t ")" | "load" b "[" t "]"
//!          | "check" t c "(" t, ... ")" t | "fold" s folded | "scan" [ "exclusive" ] s folded
//!          | "if" s nodes s nodes | "loop" s nodes "while" t s nodes [ "checks" nodes ] | t "." number
//! folded   = [ nodes ] nodes how             nodes = "(" t, ... ")"
//! how      = op, ... | s "{" t, ... "}"
//! step     = "alloc" buffer | "take" buffer "=" b | "free" b, ... | "check" t | "bind" "(" b "=" b, ... ")"
//!          | "sort" b "(" b, ... ")" "of" t [ "offsets" b ] "rows" t
//!          | "if" t block "else" block | "while" block t block | "kernel" name "{" { define } { sink } "}"
//! block    = "{" { define | step } "}"
//! sink     = "write" "@" s b "[" t "]" "=" t | "check" t
//!          | "scatter" "@" s "within" s "(" b, ... ")" "[" t "of" t "]" "=" nodes [ how ]
//! rep      = b | "(" rep, ... ")" | "[" rep ";" t "]" | "[" rep ";" "offsets" b "]"
//! ```
//!
//! Reading printed text gives a program that prints the same. Spaces and nodes may be defined again, in the same words, and before or after their uses; numbers may be missing.
//! Handles are checked to be defined, and spaces to be inside earlier ones. Nothing else is checked: that is for the verifier.

use super::*;
use crate::text::ParseError;
use crate::text::scan::{Cursor, Read};
use std::collections::BTreeMap;

/// No handle has a higher number.
const MOST: u32 = 1 << 20;

/// Reads a program.
///
/// # Errors
/// What is wrong, and where.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let mut r = Reader {
        c: Cursor::new(text),
        spaces: BTreeMap::new(),
        nodes: BTreeMap::new(),
        bufs: BTreeMap::new(),
        sites: BTreeMap::new(),
        used: Vec::new(),
    };
    let mut p = Program::default();
    r.program(&mut p)?;
    r.finish(p)
}

/// The definitions in the text so far.
struct Reader<'t> {
    c: Cursor<'t>,
    spaces: BTreeMap<u32, SpaceData>,
    nodes: BTreeMap<u32, NodeData>,
    bufs: BTreeMap<u32, BufData>,
    sites: BTreeMap<u32, SiteData>,
    /// The handles mentioned, with places.
    used: Vec<(char, u32, usize)>,
}

impl Reader<'_> {
    fn program(&mut self, p: &mut Program) -> Read<()> {
        while !self.eat_word("params") {
            self.line(p)?;
        }
        self.c.expect("(")?;
        while !self.c.eat(")") {
            p.params.push(self.rep()?);
            if !self.c.sees(")") {
                self.c.expect(",")?;
            }
        }
        while !self.eat_word("result") {
            self.line(p)?;
        }
        p.result = self.rep()?;
        while self.eat_word("note") {
            p.notes.push(self.c.name("words")?);
        }
        if self.c.at_end() { Ok(()) } else { self.c.expected("the end of the text") }
    }

    /// A line of the program outside all braces.
    fn line(&mut self, p: &mut Program) -> Read<()> {
        if self.eat_word("data") {
            let b = self.buf()?;
            self.c.expect("[")?;
            p.data.push((b, self.c.list("]", scalar)?));
            return Ok(());
        }
        if is_handle(self.c.peek_word(), 'b') {
            return self.buffer().map(drop);
        }
        if is_handle(self.c.peek_word(), 'c') {
            let place = self.c.here();
            let c = self.c.handle('c', "a site")?;
            self.c.expect("=")?;
            let kind = crate::fault::read(&mut self.c)?;
            let places = crate::fault::read_places(&mut self.c)?;
            let none = NO_SITE;
            return tell(&self.c, &mut self.sites, ('c', c, place), SiteData { kind, places, ..none });
        }
        if !self.define()? {
            p.steps.push(self.step()?);
        }
        Ok(())
    }

    /// The program, if everything that it mentions is defined.
    fn finish(self, mut p: Program) -> Result<Program, ParseError> {
        for (letter, number, place) in &self.used {
            let known = match letter {
                's' => *number == 0 || self.spaces.contains_key(number),
                't' => self.nodes.contains_key(number),
                'b' => self.bufs.contains_key(number),
                _ => self.sites.contains_key(number),
            };
            if !known {
                return self.c.error_at(*place, format!("{letter}{number} is told nowhere"));
            }
        }
        // Nothing depends on the missing numbers.
        let none = SpaceData { parent: ROOT, depth: 1, region: Region::Lambda, offsets: None };
        for (k, mut data) in self.spaces {
            data.depth = p.spaces[data.parent.index()].depth + 1;
            p.spaces.resize(k as usize, none);
            p.spaces.push(data);
            p.made_spaces.entry(data).or_insert(Space(k));
        }
        let none = NodeData { op: Op::Const(Scalar::Bool(false)), ty: ScalarType::Bool, space: ROOT };
        for (k, data) in self.nodes {
            p.nodes.resize(k as usize, none.clone());
            p.made_nodes.entry(data.clone()).or_insert(Node(k));
            p.nodes.push(data);
        }
        let none = BufData { elem: ScalarType::Bool, name: String::new(), span: Span::NONE, len: None };
        for (k, data) in self.bufs {
            p.bufs.resize(k as usize, none.clone());
            p.bufs.push(data);
        }
        let none = NO_SITE;
        for (k, data) in self.sites {
            p.sites.resize(k as usize, none.clone());
            p.made_sites.entry(data.clone()).or_insert(Site(k));
            p.sites.push(data);
        }
        Ok(p)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.c.peek_word() == word && self.c.eat(word)
    }

    fn mention(&mut self, letter: char, what: &str) -> Read<u32> {
        let place = self.c.here();
        let number = number(&mut self.c, letter, what)?;
        self.used.push((letter, number, place));
        Ok(number)
    }

    fn space(&mut self) -> Read<Space> {
        self.mention('s', "a space").map(Space)
    }

    fn node(&mut self) -> Read<Node> {
        self.mention('t', "a node").map(Node)
    }

    fn buf(&mut self) -> Read<Buf> {
        self.mention('b', "a buffer").map(Buf)
    }

    /// Items with commas between them, in parentheses or other delimiters.
    fn list<T>(&mut self, open: &str, close: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        self.c.expect(open)?;
        let mut items = Vec::new();
        if self.c.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.c.eat(close) {
                return Ok(items);
            }
            self.c.expect(",")?;
        }
    }

    fn nodes(&mut self) -> Read<Vec<Node>> {
        self.list("(", ")", Self::node)
    }

    /// A buffer with its type, its size and its name.
    fn buffer(&mut self) -> Read<(Buf, Option<Node>)> {
        let place = self.c.here();
        let b = number(&mut self.c, 'b', "a buffer")?;
        self.c.expect(":")?;
        let elem = scalar_type(&mut self.c)?;
        let mut len = None;
        if self.c.eat("[") {
            len = Some(self.node()?);
            self.c.expect("]")?;
        }
        let name = self.c.name("the name of a buffer")?;
        let data = BufData { elem, name, span: Span::NONE, len };
        tell(&self.c, &mut self.bufs, ('b', b, place), data)?;
        Ok((Buf(b), len))
    }

    fn rep(&mut self) -> Read<Rep> {
        self.c.enter()?;
        let rep = if self.c.sees("(") {
            Rep::Tuple(self.list("(", ")", Self::rep)?)
        } else if self.c.eat("[") {
            let elem = self.rep()?;
            self.c.expect(";")?;
            let rows = if self.eat_word("offsets") { Rows::Offsets(self.buf()?) } else { Rows::Equal(self.node()?) };
            self.c.expect("]")?;
            Rep::Array(rows, Box::new(elem))
        } else {
            Rep::Scalar(self.buf()?)
        };
        self.c.leave();
        Ok(rep)
    }

    /// Reads the definition of a space or a node, if there is one here.
    fn define(&mut self) -> Read<bool> {
        let (word, place) = (self.c.peek_word(), self.c.here());
        if is_handle(word, 's') {
            let s = number(&mut self.c, 's', "a space")?;
            self.c.expect("=")?;
            let data = self.space_data(s, place)?;
            tell(&self.c, &mut self.spaces, ('s', s, place), data)?;
        } else if is_handle(word, 't') {
            let t = number(&mut self.c, 't', "a node")?;
            self.c.expect(":")?;
            let ty = scalar_type(&mut self.c)?;
            self.c.expect("@")?;
            let space = self.space()?;
            self.c.expect("=")?;
            let op = self.op()?;
            tell(&self.c, &mut self.nodes, ('t', t, place), NodeData { op, ty, space })?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn space_data(&mut self, s: u32, place: usize) -> Read<SpaceData> {
        let word = self.c.word("a kind of space")?;
        let parent = self.space()?;
        if parent.0 >= s {
            return self.c.error_at(place, format!("s{s} is in {parent}, which does not come before it"));
        }
        let mut offsets = None;
        let region = match word {
            "dim" => {
                self.c.expect(",")?;
                Region::Dim(self.node()?)
            }
            "rows" => {
                self.c.expect(",")?;
                offsets = Some(self.buf()?);
                self.c.expect(",")?;
                Region::Dim(self.node()?)
            }
            "guard" => {
                self.c.expect(",")?;
                let when = !self.eat_word("not");
                Region::Guard(self.node()?, when)
            }
            "loop" => Region::Loop,
            "lambda" => Region::Lambda,
            other => return self.c.error_at(place, format!("there is no kind of space `{other}`")),
        };
        Ok(SpaceData { parent, depth: 0, region, offsets })
    }

    fn op(&mut self) -> Read<Op> {
        let (word, place) = (self.c.peek_word(), self.c.here());
        if is_handle(word, 't') {
            let whole = self.node()?;
            self.c.expect(".")?;
            return Ok(Op::Part(whole, self.c.number("the number of a part")?));
        }
        self.c.word("a node")?;
        Ok(match word {
            "const" => Op::Const(scalar(&mut self.c)?),
            "pos" => Op::Pos,
            "var" => Op::Var(self.c.number("the number of a variable")?),
            "cast" => {
                let ty = scalar_type(&mut self.c)?;
                Op::Cast(ty, self.operands::<1>()?[0])
            }
            "select" => {
                let [c, x, y] = self.operands()?;
                Op::Select(c, x, y)
            }
            "fma" => {
                let [x, y, z] = self.operands()?;
                Op::Fma(x, y, z)
            }
            "load" => {
                let b = self.buf()?;
                self.c.expect("[")?;
                let at = self.node()?;
                self.c.expect("]")?;
                Op::Load(b, at)
            }
            "check" => {
                let cond = self.node()?;
                let site = self.mention('c', "a site").map(Site)?;
                let operands = self.nodes()?;
                Op::Check { cond, value: self.node()?, site, operands }
            }
            "fold" => {
                let over = self.space()?;
                let (init, elems, combine) = self.folded()?;
                Op::Fold { over, init, elems, combine }
            }
            "scan" => {
                let exclusive = self.eat_word("exclusive");
                let from = self.space()?;
                let (init, elems, combine) = self.folded()?;
                Op::Scan { from, init, elems, combine, exclusive }
            }
            "if" => Op::If { yes: self.space()?, then: self.nodes()?, no: self.space()?, other: self.nodes()? },
            "loop" => {
                let (space, init) = (self.space()?, self.nodes()?);
                self.c.keyword("while")?;
                let (cond, inside, next) = (self.node()?, self.space()?, self.nodes()?);
                let checks = if self.eat_word("checks") { self.nodes()? } else { Vec::new() };
                Op::Loop { space, init, cond, inside, next, checks }
            }
            word => match (UnOp::from_name(word), BinOp::from_name(word)) {
                (Some(op), _) => Op::Unary(op, self.operands::<1>()?[0]),
                (_, Some(op)) => {
                    let [a, b] = self.operands()?;
                    Op::Binary(op, a, b)
                }
                _ => return self.c.error_at(place, format!("there is no operator `{word}`")),
            },
        })
    }

    /// A given number of operands in parentheses.
    fn operands<const N: usize>(&mut self) -> Read<[Node; N]> {
        let place = self.c.here();
        let list = self.nodes()?;
        let found = list.len();
        <[Node; N]>::try_from(list)
            .or_else(|_| self.c.error_at(place, format!("{found} operands where {N} are expected")))
    }

    fn folded(&mut self) -> Read<(Option<Vec<Node>>, Vec<Node>, Combine)> {
        let first = self.nodes()?;
        let (init, elems) = if self.c.sees("(") { (Some(first), self.nodes()?) } else { (None, first) };
        Ok((init, elems, self.combine()?))
    }

    fn combine(&mut self) -> Read<Combine> {
        if self.eat_word("in_order") {
            let s = self.space()?;
            return Ok(Combine::InOrder(s, self.list("{", "}", Self::node)?));
        }
        if is_handle(self.c.peek_word(), 's') {
            let s = self.space()?;
            return Ok(Combine::Lambda(s, self.list("{", "}", Self::node)?));
        }
        let mut ops = Vec::new();
        loop {
            match BinOp::from_name(self.c.peek_word()) {
                Some(op) => self.c.keyword(op.name()).map(|()| ops.push(op))?,
                None => return self.c.expected("an operator of two operands, or a function"),
            }
            if !self.c.eat(",") {
                return Ok(Combine::Ops(ops));
            }
        }
    }

    /// Steps in braces.
    fn block(&mut self) -> Read<Vec<Step>> {
        self.c.enter()?;
        self.c.expect("{")?;
        let mut steps = Vec::new();
        while !self.c.eat("}") {
            if !self.define()? {
                steps.push(self.step()?);
            }
        }
        self.c.leave();
        Ok(steps)
    }

    fn step(&mut self) -> Read<Step> {
        let word = self.c.peek_word();
        let place = self.c.here();
        if !word.is_empty() {
            self.c.keyword(word)?;
        }
        Ok(match word {
            "alloc" | "take" => {
                let place = self.c.here();
                let (b, len) = self.buffer()?;
                let Some(len) = len else { return self.c.error_at(place, format!("{b} needs a size here")) };
                if word == "alloc" {
                    return Ok(Step::Alloc(b, len));
                }
                self.c.expect("=")?;
                Step::Take(b, self.buf()?, len)
            }
            "free" => {
                let mut bufs = vec![self.buf()?];
                while self.c.eat(",") {
                    bufs.push(self.buf()?);
                }
                Step::Free(bufs)
            }
            "check" => Step::Check(self.node()?),
            "bind" => Step::Bind(self.list("(", ")", |r| {
                let to = r.buf()?;
                r.c.expect("=")?;
                Ok((to, r.buf()?))
            })?),
            "sort" => {
                let (order, keys) = (self.buf()?, self.list("(", ")", Self::buf)?);
                self.c.keyword("of")?;
                let len = self.node()?;
                let offsets = if self.eat_word("offsets") { Some(self.buf()?) } else { None };
                self.c.keyword("rows")?;
                Step::Sort { order, keys, len, offsets, rows: self.node()? }
            }
            "pull" => {
                let rep = self.rep()?;
                self.c.expect("=")?;
                let param = self.c.number("the number of a parameter")?;
                let all = self.eat_word("all");
                if !all {
                    self.c.keyword("some")?;
                }
                self.c.keyword("of")?;
                Step::Pull { param, count: self.node()?, all, rep }
            }
            "push" => {
                let to = self.c.number("the number of a result")?;
                self.c.expect("=")?;
                Step::Push { to, rep: self.rep()? }
            }
            "if" => {
                let (cond, yes) = (self.node()?, self.block()?);
                self.c.keyword("else")?;
                Step::If(cond, yes, self.block()?)
            }
            "while" | "stream" => {
                let stream = if word == "stream" { Some(self.stream()?) } else { None };
                Step::While { test: self.block()?, cond: self.node()?, body: self.block()?, stream }
            }
            "kernel" => Step::Run(self.kernel()?),
            _ => {
                self.c.rewind(place);
                return self.c.expected("a step");
            }
        })
    }

    fn stream(&mut self) -> Read<Stream> {
        let mut stream = Stream::new(self.buf()?);
        self.c.keyword("pulls")?;
        stream.sources.extend(self.list("(", ")", |r| r.c.number::<u32>("the number of a parameter"))?);
        self.c.keyword("pushes")?;
        stream.sinks.extend(self.list("(", ")", |r| r.c.number::<u32>("the number of a result"))?);
        self.c.keyword("state")?;
        stream.state.extend(self.list("(", ")", Self::buf)?);
        Ok(stream)
    }

    fn kernel(&mut self) -> Read<Kernel> {
        let name = self.c.name("the name of a kernel")?;
        self.c.expect("{")?;
        let mut sinks = Vec::new();
        while !self.c.eat("}") {
            if !self.define()? {
                sinks.push(self.sink()?);
            }
        }
        Ok(Kernel { sinks, name })
    }

    fn sink(&mut self) -> Read<Sink> {
        if self.eat_word("check") {
            return Ok(Sink::Check(self.node()?));
        }
        if self.eat_word("write") {
            self.c.expect("@")?;
            let (space, buf) = (self.space()?, self.buf()?);
            self.c.expect("[")?;
            let at = self.node()?;
            self.c.expect("]")?;
            self.c.expect("=")?;
            return Ok(Sink::Write { space, buf, at, value: self.node()? });
        }
        if !self.eat_word("scatter") {
            return self.c.expected("a sink");
        }
        self.c.expect("@")?;
        let space = self.space()?;
        self.c.keyword("within")?;
        let (within, bufs) = (self.space()?, self.list("(", ")", Self::buf)?);
        self.c.expect("[")?;
        let at = self.node()?;
        self.c.keyword("of")?;
        let len = self.node()?;
        self.c.expect("]")?;
        self.c.expect("=")?;
        let values = self.nodes()?;
        let word = self.c.peek_word();
        let combined = BinOp::from_name(word).is_some() || is_handle(word, 's');
        let combine = if combined { Some(self.combine()?) } else { None };
        Ok(Sink::Scatter { space, bufs, at, len, within, values, combine })
    }
}

fn is_handle(word: &str, letter: char) -> bool {
    word.strip_prefix(letter).is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn number(c: &mut Cursor<'_>, letter: char, what: &str) -> Read<u32> {
    let place = c.here();
    let number = c.handle(letter, what)?;
    if number >= MOST {
        return c.error_at(place, format!("the number {number} is too large"));
    }
    Ok(number)
}

/// Records a definition, unless it differs from an earlier one.
fn tell<T: PartialEq>(
    c: &Cursor<'_>,
    known: &mut BTreeMap<u32, T>,
    (letter, number, place): (char, u32, usize),
    data: T,
) -> Read<()> {
    match known.get(&number) {
        Some(before) if *before != data => c.error_at(place, format!("{letter}{number} was something else above")),
        Some(_) => Ok(()),
        None => {
            known.insert(number, data);
            Ok(())
        }
    }
}

/// The placeholder for an undefined site.
const NO_SITE: SiteData = SiteData { kind: Fault::Range, span: Span::NONE, places: Vec::new(), param: Span::NONE };

fn scalar(c: &mut Cursor<'_>) -> Read<Scalar> {
    let place = c.here();
    let text = c.scalar_text();
    match Scalar::parse(text) {
        Some(s) => Ok(s),
        None => c.error_at(place, "expected a scalar"),
    }
}

fn scalar_type(c: &mut Cursor<'_>) -> Read<ScalarType> {
    match ScalarType::from_name(c.peek_word()) {
        Some(ty) => c.keyword(ty.name()).map(|()| ty),
        None => c.expected("a scalar type"),
    }
}
