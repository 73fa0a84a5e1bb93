//! Reading the text form of schedules, which the printer writes.
//!
//! Reading printed text gives the same schedule back, except for the reasons. Whether it fits a kernel is not checked here.

use super::*;
use crate::text::ParseError;
use crate::text::scan::{Cursor, Read};

/// Reads the functions of a schedule.
///
/// # Errors
/// Text that is not a schedule, with the place.
pub fn parse(text: &str) -> Result<Schedule, ParseError> {
    let mut reader = Reader(Cursor::new(text));
    let mut functions = Vec::new();
    while !reader.0.at_end() {
        reader.0.keyword("function")?;
        let name = reader.0.name("the name of a function")?;
        reader.0.expect("{")?;
        let threads = reader.threads()?;
        functions.push(Function { name, threads, walks: reader.walks()?, legend: Legend::default() });
    }
    Ok(Schedule { functions })
}

struct Reader<'t>(Cursor<'t>);

impl Reader<'_> {
    fn eat_word(&mut self, word: &str) -> bool {
        self.0.peek_word() == word && self.0.eat(word)
    }

    /// How threads share points, if given.
    fn threads(&mut self) -> Read<Option<Threads>> {
        if !self.eat_word("threads") {
            return Ok(None);
        }
        let share = match self.0.peek_word() {
            "one" => Share::One,
            "blocks" => Share::Blocks,
            "rows" => Share::Rows,
            "copies" => Share::Copies,
            "owners" => Share::Owners,
            "grid" => return self.grid().map(Some),
            _ => return self.0.expected("`one`, `blocks`, `rows`, `copies`, `owners` or `grid`"),
        };
        self.0.word("a division")?;
        let is_number = self.0.peek_word().starts_with(|c: char| c.is_ascii_digit());
        let block = if is_number { Some(self.0.number("a number of points")?) } else { None };
        Ok(Some(Threads { share, block, why: Why::default() }))
    }

    /// How the threads of a grid share points.
    fn grid(&mut self) -> Read<Threads> {
        self.0.keyword("grid")?;
        let threads = self.0.number("a number of threads")?;
        let word = self.0.peek_word();
        if !["strided", "binned", "successive", "rounds", "runs", "parts", "sorted", "tiles", "groups"].contains(&word)
        {
            return self.0.expected(
                "`strided`, `binned`, `successive`, `rounds`, `runs`, `parts`, `sorted`, `tiles` or `groups`",
            );
        }
        self.0.keyword(word)?;
        let take = match word {
            "strided" => Take::Strided,
            "binned" => Take::Binned { bytes: self.0.number("a number of bytes")? },
            "successive" => Take::Successive,
            "rounds" => Take::Rounds { each: self.0.number("a number of points")? },
            "runs" => {
                let elements = self.0.number("a number of elements")?;
                self.0.keyword("at_least")?;
                Take::Runs { elements, at_least: self.0.number("a number of elements")? }
            }
            "parts" => Take::Parts,
            "sorted" => Take::Sorted,
            "tiles" => {
                let rows = self.0.number("a number of rows")?;
                self.0.keyword("x")?;
                let columns = self.0.number("a number of columns")?;
                self.0.keyword("across")?;
                let across = self.0.number("a number of threads")?;
                self.0.keyword("deep")?;
                let deep = self.0.number("a number of elements")?;
                self.0.keyword("at_least")?;
                Take::Tiles { rows, columns, across, deep, at_least: self.0.number("a number of points")? }
            }
            _ => {
                let width = self.0.number("a number of threads")?;
                self.0.keyword("at_least")?;
                Take::Groups { width, at_least: self.0.number("a number of elements")? }
            }
        };
        let split = match self.0.peek_word() {
            "split" => {
                self.0.keyword("split")?;
                Some(self.0.number("a number of elements")?)
            }
            _ => None,
        };
        Ok(Threads { share: Share::Grid(Grid { threads, take, split }), block: None, why: Why::default() })
    }

    /// Walks up to a closing brace.
    fn walks(&mut self) -> Read<Walks> {
        self.0.enter()?;
        let mut walks = Vec::new();
        while !self.0.eat("}") {
            let dim = Space(self.0.handle('s', "a space or `}`")?);
            self.0.expect(":")?;
            let items = self.0.list("{", item)?;
            let nest = self.nest()?;
            self.0.expect("}")?;
            walks.push(Walk { dim, items, nest });
        }
        self.0.leave();
        Ok(walks.into())
    }

    fn nest(&mut self) -> Read<Nest> {
        if !self.eat_word("when") {
            let level = self.level()?;
            let inside = if self.0.eat("{") { self.walks()? } else { Walks::from([]) };
            return Ok(Nest::level(level, inside, ""));
        }
        self.0.enter()?;
        let when = self.condition()?;
        self.0.expect("{")?;
        let then = self.nest()?;
        self.0.expect("}")?;
        self.0.keyword("else")?;
        self.0.expect("{")?;
        let other = self.nest()?;
        self.0.expect("}")?;
        self.0.leave();
        Ok(Nest::when(when, then, other))
    }

    fn condition(&mut self) -> Read<When> {
        let word = self.0.peek_word();
        if !["interior", "fewer", "at_least", "elements", "tiles"].contains(&word) {
            return self.0.expected("`interior`, `fewer`, `at_least`, `elements` or `tiles`");
        }
        self.0.keyword(word)?;
        let points = "a number of points";
        Ok(match word {
            "interior" => When::Interior,
            "fewer" => When::Fewer(self.0.number(points)?),
            "at_least" => When::AtLeast(self.0.number(points)?),
            "elements" => When::Elements(self.0.number("a number of elements")?),
            _ => {
                self.0.keyword("least")?;
                let least = self.0.number(points)?;
                self.0.keyword("deepest")?;
                When::Tiles { least, deepest: self.0.number(points)? }
            }
        })
    }

    fn level(&mut self) -> Read<Level> {
        let word = self.0.peek_word();
        let known = [
            "serial",
            "independent",
            "unrolled",
            "joined",
            "lines",
            "lanes",
            "windows",
            "accumulators",
            "tile",
            "group",
        ];
        if !known.contains(&word) {
            return self.0.expected("`when`, or a level such as `serial` or `lanes`");
        }
        self.0.keyword(word)?;
        Ok(match word {
            "serial" => Level::Serial,
            "independent" => Level::Independent,
            "unrolled" => Level::Unrolled,
            "group" => Level::Group,
            "joined" => Level::Joined,
            "lines" => {
                let together = self.0.number("a number of lines")?;
                Level::Lines { together, non_temporal: self.eat_word("non_temporal") }
            }
            "lanes" => Level::Lanes(self.lanes()?),
            "windows" => {
                let rows = self.0.number("a number of rows")?;
                self.0.keyword("lanes")?;
                let width = self.0.number("a number of lanes")?;
                let crosswise = self.eat_word("crosswise");
                let staged = if self.eat_word("staged") { self.0.number("a number of elements")? } else { 0 };
                Level::Windows { rows, width, crosswise, staged }
            }
            "accumulators" => Level::Accumulators(self.0.number("a number of accumulators")?),
            _ => {
                let rows = self.0.number("a number of rows")?;
                self.0.keyword("lanes")?;
                Level::Tile { rows, columns: self.lanes()? }
            }
        })
    }

    /// Lanes, after that word.
    fn lanes(&mut self) -> Read<Lanes> {
        let width = self.0.number("a number of lanes")?;
        self.0.keyword("x")?;
        let vectors = self.0.number("a number of vectors")?;
        let (apart, non_temporal) = (self.eat_word("apart"), self.eat_word("non_temporal"));
        Ok(Lanes { width, vectors, apart, non_temporal, masked: self.eat_word("masked") })
    }
}

fn item(c: &mut Cursor<'_>) -> Read<Item> {
    let word = c.peek_word();
    if !["fold", "scan", "sink"].contains(&word) {
        return c.expected("`fold`, `scan` or `sink`");
    }
    c.keyword(word)?;
    Ok(match word {
        "fold" => Item::Fold(Node(c.handle('t', "a node")?)),
        "scan" => Item::Scan(Node(c.handle('t', "a node")?)),
        _ => Item::Sink(c.number("the number of a sink")?),
    })
}
