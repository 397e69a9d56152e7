//! Bars as SVG, written by hand: the same figures give the same bytes.

/// A bar for each case, the longest as wide as the picture, with its median behind it.
pub(crate) fn bars(title: &str, medians: &[(&str, f64)]) -> String {
    let most = medians.iter().map(|(_, median)| *median).fold(f64::MIN_POSITIVE, f64::max);
    let height = TOP + STEP * medians.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}: median, in milliseconds</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"18\" font-weight=\"bold\">{title}: median, in milliseconds</text>\n",
        title = text(title)
    );
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
}
