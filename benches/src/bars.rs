//! Groups of bars on a logarithmic axis, as SVG.

use std::fmt::Write;

/// A diagram of ratios.
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// The names of the bars of a group.
    pub series: Vec<String>,
    /// Each group: its name and its bars, some of which may be missing.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
}

const COLOURS: [&str; 6] = ["#9aa5b1", "#3e7cb1", "#c9b458", "#1f4e79", "#b5523b", "#5b8c5a"];
/// In pixels: a bar, the space between groups, the height of the axis, and the borders.
const BAR: f64 = 15.0;
const BETWEEN: f64 = 22.0;
const HIGH: f64 = 300.0;
const LEFT: f64 = 50.0;
const TOP: f64 = 64.0;
const BELOW: f64 = 40.0;

impl Bars {
    /// The picture.
    pub fn svg(&self) -> String {
        let all = || self.groups.iter().flat_map(|(_, bars)| bars.iter().flatten().copied());
        let least = all().fold(1.0, f64::min).log10().floor();
        let most = all().fold(10.0, f64::max).log10().ceil();
        let up = |x: f64| TOP + HIGH * (most - x.log10().max(least)) / (most - least);
        let group = BAR * self.series.len() as f64 + BETWEEN;
        let (wide, high) = (LEFT + group * self.groups.len() as f64 + 10.0, TOP + HIGH + BELOW);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        let mut add = |line: String| {
            svg += &line;
            svg.push('\n');
        };
        add(text(LEFT, 18.0, "start", 14, &self.title));
        let mut x = LEFT;
        for (name, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            add(format!("<rect x=\"{x}\" y=\"32\" width=\"11\" height=\"11\" fill=\"{colour}\"/>"));
            add(text(x + 16.0, 42.0, "start", 12, name));
            x += 34.0 + 6.6 * name.chars().count() as f64;
        }
        for power in least as i32..=most as i32 {
            let (value, y) = (10f64.powi(power), up(10f64.powi(power)));
            let colour = if power == 0 { "#444" } else { "#ddd" };
            add(format!("<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{wide}\" y2=\"{y:.1}\" stroke=\"{colour}\"/>"));
            add(text(LEFT - 6.0, y + 4.0, "end", 12, &value.to_string()));
        }
        for (k, (name, bars)) in self.groups.iter().enumerate() {
            let from = LEFT + BETWEEN / 2.0 + group * k as f64;
            for (j, bar) in bars.iter().enumerate() {
                let Some(value) = bar else { continue };
                let (x, y, foot) = (from + BAR * j as f64, up(*value), up(10f64.powf(least)));
                let colour = COLOURS[j % COLOURS.len()];
                add(format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{}: {}</title></rect>",
                    BAR - 1.0,
                    foot - y,
                    escaped(self.series.get(j).map_or("", String::as_str)),
                    short(*value)
                ));
                let at = (x + BAR / 2.0 + 3.0, y - 3.0);
                add(format!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"9\" transform=\"rotate(-90 {:.1} {:.1})\">{}</text>",
                    at.0,
                    at.1,
                    at.0,
                    at.1,
                    short(*value)
                ));
            }
            let middle = from + BAR * bars.len() as f64 / 2.0;
            add(text(middle, TOP + HIGH + 18.0, "middle", 12, name));
        }
        svg + "</svg>\n"
    }
}

/// Three digits.
fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn text(x: f64, y: f64, anchor: &str, size: u32, what: &str) -> String {
    let mut line = String::new();
    let what = escaped(what);
    let _ = write!(line, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{what}</text>");
    line
}

fn escaped(what: &str) -> String {
    what.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_for_each_figure() {
        let groups = vec![("a".to_string(), vec![Some(2.0), None]), ("b".to_string(), vec![Some(0.5), Some(120.0)])];
        let svg = Bars { title: "a < b".into(), series: vec!["x".into(), "y".into()], groups }.svg();
        assert_eq!(svg.matches("<title>").count(), 3);
        assert!(svg.contains("a &lt; b") && svg.contains(">0.1<") && svg.contains(">1000<"), "{svg}");
    }
}
