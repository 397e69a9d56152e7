//! A loop as one page that needs nothing else: no script, no style sheet, no picture from elsewhere. Whatever a
//! candidate could have chosen is escaped.

use cofferdam_core::inert::Inert;
use cofferdam_core::search::Verdict;
use cofferdam_sandbox::search::Summary;

use super::plot;
use super::report::{champion, metric, tally};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#1c2733;background:#fff}table{border-collapse:collapse;width:100%}td,th{padding:.2rem .6rem;text-align:left;\
border-bottom:1px solid #dde3ea;vertical-align:top}pre{background:#f5f7f9;padding:1rem;overflow:auto}\
.rejected{color:#8a5a00}.champion{font-weight:600;color:#0b6b3a}svg{width:100%;height:auto}";

/// The largest diff that is shown.
const LONGEST_DIFF: usize = 256 * 1024;

pub(super) fn page(summary: &Summary, diff: Option<&[u8]>) -> String {
    let metric = metric(summary);
    let title = format!("Loop {}", summary.meta.id.short());
    let ended = summary.stopped.map_or("not ended yet".to_owned(), |stop| stop.to_string());
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    page.push_str(&format!(
        "<p>{} in {}: {} after {} iterations.</p>\n",
        escaped(&summary.meta.file),
        escaped(&summary.meta.workspace.display().to_string()),
        escaped(&ended),
        summary.history.len(),
    ));
    if let Some(line) = champion(summary) {
        page.push_str(&format!(
            "<p class=\"champion\">Champion: iteration {}, {} {}</p>\n",
            line.trial.iteration,
            escaped(&metric),
            line.trial.value.unwrap_or_default(),
        ));
    }
    page.push_str(&plot::svg(summary, &escaped(&metric)));
    page.push_str("<h2>Verdicts</h2>\n<table><tr><th>verdict</th><th>trials</th></tr>\n");
    for (name, count) in tally(summary) {
        page.push_str(&format!("<tr><td>{}</td><td>{count}</td></tr>\n", escaped(&name)));
    }
    page.push_str("</table>\n");
    if let Some(diff) = diff {
        let shown = &diff[..diff.len().min(LONGEST_DIFF)];
        let cut = if shown.len() < diff.len() { "\n… cut off here" } else { "" };
        let text = escaped(&String::from_utf8_lossy(shown));
        page.push_str(&format!("<h2>The champion's changes</h2>\n<pre>{text}{cut}</pre>\n"));
    }
    trials(&mut page, summary, &metric);
    page.push_str("</body></html>\n");
    page
}

fn trials(page: &mut String, summary: &Summary, metric: &str) {
    page.push_str(&format!(
        "<h2>Trials</h2>\n<table><tr><th>iteration</th><th>verdict</th><th>{}</th><th>files</th>\
         <th>bytes</th><th>why</th></tr>\n",
        escaped(metric)
    ));
    for line in &summary.history {
        let trial = &line.trial;
        let (verdict, why) = match &trial.verdict {
            Verdict::Champion => ("champion", String::new()),
            Verdict::Beaten => ("beaten", String::new()),
            Verdict::Rejected { reason, detail } => ("rejected", format!("{reason}: {detail}")),
        };
        let value = trial.value.map(|value| value.to_string()).unwrap_or_default();
        page.push_str(&format!(
            "<tr class=\"{verdict}\"><td>{}</td><td>{verdict}</td><td>{value}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>\n",
            trial.iteration,
            trial.files,
            trial.bytes,
            escaped(&why),
        ));
    }
    page.push_str("</table>\n");
}

/// Text that a browser shows and does not obey.
pub(super) fn escaped(text: &str) -> String {
    let text = Inert::block(text).to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_candidate_chose_is_no_markup() {
        let text = escaped("<script>alert('x')</script>&\u{1b}[31m\u{202e}\n</pre>");
        assert!(!text.contains('<') && !text.contains('\u{1b}') && !text.contains('\u{202e}'));
        assert!(text.starts_with("&lt;script&gt;alert(&#39;x&#39;)"), "{text}");
    }
}
