//! Tables in a page, each between two markers, the rest of the page left alone.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Puts `table` between the markers of bench `name`.
pub(crate) fn write(page: &Path, name: &str, table: &str) -> Result<()> {
    let shown = page.display();
    let text = fs::read_to_string(page).with_context(|| format!("cannot read {shown}"))?;
    let new = replaced(&text, name, table).with_context(|| {
        format!(
            "{shown} lacks <!-- bench:{name} --> with <!-- /bench:{name} --> after it: add them"
        )
    })?;
    fs::write(page, new).with_context(|| format!("cannot write {shown}"))
}

/// Puts a plot beside the page.
pub(crate) fn draw(dir: &Path, name: &str, svg: &str) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let path = dir.join(format!("{name}.svg"));
    fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))
}

fn replaced(page: &str, name: &str, table: &str) -> Option<String> {
    let (open, close) = (format!("<!-- bench:{name} -->"), format!("<!-- /bench:{name} -->"));
    let (before, rest) = page.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}\n{table}\n{close}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_markers_changes() {
        let page = "a\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nb\n";
        let new = replaced(page, "x", "new").unwrap();
        assert_eq!(new, "a\n<!-- bench:x -->\nnew\n<!-- /bench:x -->\nb\n");
        assert_eq!(replaced(&new, "x", "new").as_deref(), Some(new.as_str()));
        assert_eq!(replaced(page, "y", "new"), None);
        assert_eq!(replaced("<!-- /bench:x --> <!-- bench:x -->", "x", "new"), None);
    }

    #[test]
    fn a_page_without_markers_is_an_error_and_stays_as_it_is() {
        let page = std::env::temp_dir().join(format!("cofferdam-page-{}.md", std::process::id()));
        fs::write(&page, "<!-- bench:x --><!-- /bench:x -->").unwrap();
        let (known, unknown) = (write(&page, "x", "new"), write(&page, "y", "other"));
        let text = fs::read_to_string(&page).unwrap();
        fs::remove_file(&page).unwrap();
        assert!(known.is_ok());
        assert!(unknown.unwrap_err().to_string().contains("<!-- /bench:y -->"));
        assert_eq!(text, "<!-- bench:x -->\nnew\n<!-- /bench:x -->");
        assert!(write(&page, "x", "new").is_err());
    }
}
