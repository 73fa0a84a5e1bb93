//! The text form of schedules; see the [module](super) for an example.

use super::*;
use std::fmt;

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Fold(n) => write!(f, "fold {n}"),
            Item::Scan(n) => write!(f, "scan {n}"),
            Item::Sink(k) => write!(f, "sink {k}"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Interior => f.write_str("interior"),
            When::Fewer(n) => write!(f, "fewer {n}"),
            When::AtLeast(n) => write!(f, "at_least {n}"),
            When::Elements(n) => write!(f, "elements {n}"),
            When::Tiles { least, deepest } => write!(f, "tiles least {least} deepest {deepest}"),
        }
    }
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lanes {} x {}", self.width, self.vectors)?;
        f.write_str(if self.apart { " apart" } else { "" })?;
        f.write_str(if self.non_temporal { " non_temporal" } else { "" })?;
        f.write_str(if self.masked { " masked" } else { "" })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Serial => f.write_str("serial"),
            Level::Independent => f.write_str("independent"),
            Level::Unrolled => f.write_str("unrolled"),
            Level::Joined => f.write_str("joined"),
            Level::Lines { together, non_temporal } => {
                write!(f, "lines {together}{}", if *non_temporal { " non_temporal" } else { "" })
            }
            Level::Lanes(lanes) => write!(f, "{lanes}"),
            Level::Windows { rows, width, crosswise, staged } => {
                write!(f, "windows {rows} lanes {width}{}", if *crosswise { " crosswise" } else { "" })?;
                if *staged > 0 { write!(f, " staged {staged}") } else { Ok(()) }
            }
            Level::Accumulators(n) => write!(f, "accumulators {n}"),
            Level::Tile { rows, columns } => write!(f, "tile {rows} {columns}"),
            Level::Group => f.write_str("group"),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::One => f.write_str("one"),
            Share::Blocks => f.write_str("blocks"),
            Share::Rows => f.write_str("rows"),
            Share::Copies => f.write_str("copies"),
            Share::Owners => f.write_str("owners"),
            Share::Grid(Grid { threads, take, split }) => {
                write!(f, "grid {threads} {take}")?;
                split.map_or(Ok(()), |n| write!(f, " split {n}"))
            }
        }
    }
}

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Take::Strided => f.write_str("strided"),
            Take::Binned { bytes } => write!(f, "binned {bytes}"),
            Take::Successive => f.write_str("successive"),
            Take::Rounds { each } => write!(f, "rounds {each}"),
            Take::Runs { elements, at_least } => write!(f, "runs {elements} at_least {at_least}"),
            Take::Parts => f.write_str("parts"),
            Take::Sorted => f.write_str("sorted"),
            Take::Tiles { rows, columns, across, deep, at_least } => {
                write!(f, "tiles {rows} x {columns} across {across} deep {deep} at_least {at_least}")
            }
            Take::Groups { width, at_least } => write!(f, "groups {width} at_least {at_least}"),
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "threads {}", self.share)?;
        self.block.map_or(Ok(()), |points| write!(f, " {points}"))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)?;
        let Some(Instead { level, times }) = self.instead else { return Ok(()) };
        f.write_str(if self.text.is_empty() { "" } else { "; " })?;
        match times {
            0.95..1.05 => write!(f, "{level}: about the same"),
            ..10.0 => write!(f, "{level}: {times:.1} times as long"),
            _ => write!(f, "{level}: {times:.0} times as long"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.functions.iter().try_for_each(|function| write!(f, "{function}"))
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {} {{", self.name)?;
        self.legend.0.iter().try_for_each(|line| writeln!(f, "  // {line}"))?;
        let mut out = Out { f, depth: 1 };
        if let Some(threads) = &self.threads {
            out.line(&threads.to_string(), &threads.why.to_string())?;
        }
        out.walks(&self.walks)?;
        f.write_str("}\n")
    }
}

struct Out<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    depth: usize,
}

impl Out<'_, '_> {
    fn line(&mut self, text: &str, why: &str) -> fmt::Result {
        let indent = 2 * self.depth;
        match why {
            "" => writeln!(self.f, "{:indent$}{text}", ""),
            _ => {
                let width = 44usize.saturating_sub(indent);
                writeln!(self.f, "{:indent$}{text:width$}  // {why}", "")
            }
        }
    }

    fn walks(&mut self, walks: &[Walk]) -> fmt::Result {
        for walk in walks {
            let items: Vec<String> = walk.items.iter().map(Item::to_string).collect();
            let items = items.join(", ");
            let blank = if items.is_empty() { "" } else { " " };
            self.line(&format!("{}:{blank}{items} {{", walk.dim), "")?;
            self.depth += 1;
            self.nest(&walk.nest)?;
            self.depth -= 1;
            self.line("}", "")?;
        }
        Ok(())
    }

    fn nest(&mut self, nest: &Nest) -> fmt::Result {
        match nest {
            Nest::When(when, then, other) => {
                self.line(&format!("when {when} {{"), "")?;
                self.depth += 1;
                self.nest(then)?;
                self.depth -= 1;
                self.line("} else {", "")?;
                self.depth += 1;
                self.nest(other)?;
                self.depth -= 1;
                self.line("}", "")
            }
            Nest::Level { level, inside, why } if inside.is_empty() => self.line(&level.to_string(), &why.to_string()),
            Nest::Level { level, inside, why } => {
                self.line(&format!("{level} {{"), &why.to_string())?;
                self.depth += 1;
                self.walks(inside)?;
                self.depth -= 1;
                self.line("}", "")
            }
        }
    }
}
