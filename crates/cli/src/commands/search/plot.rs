//! The objective over the iterations, as SVG: a dot a trial, a line for the champion, a mark for what was rejected.

use cofferdam_core::search::Verdict;
use cofferdam_sandbox::search::Summary;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const REST: f64 = 24.0;

/// `metric` is escaped already.
pub(super) fn svg(summary: &Summary, metric: &str) -> String {
    let values = summary.history.iter().filter_map(|line| line.trial.value);
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = match (low.is_finite(), high - low > 0.0) {
        (true, true) => (low, high),
        (true, false) => (low - 1.0, low + 1.0),
        (false, _) => (0.0, 1.0),
    };
    let scale = Scale { low, high, last: summary.history.len().max(2) };
    let (mut dots, mut line, mut best) = (String::new(), String::new(), None);
    for (at, decided) in summary.history.iter().enumerate() {
        let (x, trial) = (scale.x(at), &decided.trial);
        match (&trial.verdict, trial.value) {
            (Verdict::Rejected { .. }, _) => {
                let y = HEIGHT - REST;
                dots.push_str(&format!(
                    "<path d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\" stroke=\"#b36b00\"/>",
                    x - 3.0,
                    y - 3.0
                ));
            }
            (verdict, Some(value)) => {
                let y = scale.y(value);
                let fill = if *verdict == Verdict::Champion { "#0b6b3a" } else { "#8fa1b3" };
                dots.push_str(&format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{fill}\"/>"
                ));
                if *verdict == Verdict::Champion {
                    // A step: the old one stood until now.
                    match best {
                        None => line.push_str(&format!("M{x:.1} {y:.1}")),
                        Some(before) => {
                            line.push_str(&format!("L{x:.1} {before:.1}L{x:.1} {y:.1}"))
                        }
                    }
                    best = Some(y);
                }
            }
            _ => {}
        }
    }
    if let Some(y) = best {
        line.push_str(&format!("L{:.1} {y:.1}", scale.x(scale.last - 1)));
    }
    let right = WIDTH - REST;
    let base = HEIGHT - REST;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{metric} over iterations\">\
         <path d=\"M{LEFT} {REST}V{base}H{right}\" fill=\"none\" stroke=\"#c3ccd6\"/>\
         <text x=\"4\" y=\"{:.1}\" font-size=\"12\">{}</text><text x=\"4\" y=\"{:.1}\" font-size=\"12\">{}</text>\
         <text x=\"{LEFT}\" y=\"14\" font-size=\"12\">{metric}: champion (line), trials (dots), rejected (crosses)</text>\
         <path d=\"{line}\" fill=\"none\" stroke=\"#0b6b3a\" stroke-width=\"2\"/>{dots}</svg>\n",
        scale.y(high) + 4.0,
        short(high),
        scale.y(low) + 4.0,
        short(low),
    )
}

struct Scale {
    low: f64,
    high: f64,
    /// How many there are, two at least.
    last: usize,
}

impl Scale {
    #[expect(clippy::cast_precision_loss, reason = "no page has so many trials")]
    fn x(&self, at: usize) -> f64 {
        LEFT + 8.0 + (WIDTH - REST - LEFT - 16.0) * at as f64 / (self.last - 1) as f64
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        HEIGHT - REST - 14.0 - (HEIGHT - 2.0 * REST - 24.0) * share
    }
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-3..1e5).contains(&size) => format!("{value:.2e}"),
        _ => format!("{value:.3}"),
    }
}
