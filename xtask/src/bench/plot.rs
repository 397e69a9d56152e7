//! Bars and lines as SVG, written by hand: the same figures give the same bytes.

use super::curve::{Curve, grouped};
use super::figures::milliseconds;

/// A bar for each case, the longest as wide as the picture, with its median behind it.
pub(crate) fn bars(title: &str, medians: &[(&str, f64)]) -> String {
    let most = medians.iter().map(|(_, median)| *median).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = opened(&format!("{title}: median, in milliseconds"), TOP + STEP * medians.len());
    for (at, (name, median)) in medians.iter().enumerate() {
        let y = TOP + STEP * at;
        let width = median / most * BAR;
        // The base is grey: the others are read against it.
        let colour = if at == 0 { "#8a8a8a" } else { "#2f6f9f" };
        svg += &format!(
            "<text x=\"8\" y=\"{label}\">{name}</text>\n\
             <rect x=\"8\" y=\"{bar}\" width=\"{width:.1}\" height=\"10\" fill=\"{colour}\"/>\n\
             <text x=\"{end:.1}\" y=\"{value}\">{median:.2}</text>\n",
            label = y + 12,
            name = text(name),
            bar = y + 17,
            end = width + 14.0,
            value = y + 26,
        );
    }
    svg + "</svg>\n"
}

/// A line for each series. Sizes are spread evenly by their logarithm; so are times where they differ much, and where
/// they do not, they begin at zero: what looks flat is flat.
pub(crate) fn lines(title: &str, curve: &Curve) -> String {
    let legend = TOP + 16 * curve.series.len();
    let (bottom, height) = (legend + DEPTH, legend + DEPTH + 44);
    let mut svg = opened(&format!("{title}: milliseconds by {}", curve.across), height);
    let sizes = curve.sizes();
    let times = || {
        curve.series.iter().flat_map(|series| &series.points).map(|(_, time)| milliseconds(*time))
    };
    let (least, most) =
        (times().fold(f64::MAX, f64::min), times().fold(f64::MIN_POSITIVE, f64::max));
    let logarithmic = most > 20.0 * least;
    let across = Scale::new(
        sizes.first().map_or(1.0, |at| *at as f64),
        sizes.last().map_or(1.0, |at| *at as f64),
        true,
    );
    let up = Scale::new(if logarithmic { least } else { 0.0 }, most, logarithmic);
    let x = |size: usize| LEFT + across.share(size as f64) * (BAR - LEFT);
    let y = |time: f64| bottom as f64 - up.share(time) * (DEPTH as f64 - 12.0);
    for size in sizes {
        svg += &format!(
            "<line x1=\"{at:.1}\" y1=\"{legend}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#e0e0e0\"/>\n\
             <text x=\"{at:.1}\" y=\"{label}\" text-anchor=\"middle\">{size}</text>\n",
            at = x(size),
            label = bottom + 16,
            size = grouped(size),
        );
    }
    for (number, series) in curve.series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let way: Vec<String> = series
            .points
            .iter()
            .map(|(size, time)| format!("{:.1},{:.1}", x(*size), y(milliseconds(*time))))
            .collect();
        svg += &format!(
            "<text x=\"8\" y=\"{}\" fill=\"{colour}\">{}</text>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            TOP + 8 + 16 * number,
            text(series.name),
            way.join(" "),
        );
        for (size, time) in &series.points {
            let time = milliseconds(*time);
            svg += &format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>\n\
                 <text x=\"{x:.1}\" y=\"{above:.1}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{colour}\">{shown}</text>\n",
                shown = if time < 100.0 { format!("{time:.2}") } else { format!("{time:.0}") },
                x = x(*size),
                y = y(time),
                above = y(time) - 6.0,
            );
        }
    }
    let kind = if logarithmic { "both axes logarithmic" } else { "times from zero" };
    svg += &format!("<text x=\"8\" y=\"{}\">{} ({kind})</text>\n", bottom + 36, text(curve.across));
    svg + "</svg>\n"
}

const DEPTH: usize = 220;
const LEFT: f64 = 40.0;
const COLOURS: [&str; 4] = ["#2f6f9f", "#b0522d", "#4a7c3a", "#6a4c93"];

/// Where a figure lies between the least and the most.
struct Scale {
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    fn new(from: f64, to: f64, logarithmic: bool) -> Self {
        Self { from, to, logarithmic }
    }

    fn share(&self, figure: f64) -> f64 {
        let put = |figure: f64| {
            if self.logarithmic { figure.max(f64::MIN_POSITIVE).ln() } else { figure }
        };
        let (from, to) = (put(self.from), put(self.to));
        if to > from { (put(figure) - from) / (to - from) } else { 0.0 }
    }
}

/// An empty picture with a title.
fn opened(title: &str, height: usize) -> String {
    let title = text(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"18\" font-weight=\"bold\">{title}</text>\n"
    )
}

const WIDTH: usize = 720;
const BAR: f64 = 620.0;
const TOP: usize = 28;
const STEP: usize = 36;

/// As text of XML, without the marks of code that tables have.
fn text(name: &str) -> String {
    name.replace('`', "")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_figures_and_the_same_twice() {
        let draw = || bars("start", &[("`a` & <b>", 1.0), ("c", 4.0)]);
        let svg = draw();
        assert_eq!(svg, draw());
        assert!(svg.contains("width=\"155.0\"") && svg.contains("width=\"620.0\""), "{svg}");
        assert!(svg.contains(">a &amp; &lt;b&gt;<") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(bars("none", &[]).ends_with("</svg>\n"));
    }

    #[test]
    fn lines_go_from_corner_to_corner_and_flat_ones_stay_flat() {
        let svg = lines("growth", &super::super::curve::example());
        assert!(svg.contains("points=\"40.0,261.0 620.0,72.0\""), "{svg}");
        assert!(svg.contains("both axes logarithmic") && svg.contains(">100,000<"), "{svg}");
        let mut flat = super::super::curve::example();
        flat.series.truncate(1);
        flat.series[0].points[1].1 = flat.series[0].points[0].1;
        let svg = lines("growth", &flat);
        assert!(
            svg.contains("points=\"40.0,56.0 620.0,56.0\"") && svg.contains("from zero"),
            "{svg}"
        );
    }
}
