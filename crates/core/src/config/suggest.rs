//! The name that was probably meant.

/// The nearest of `names`, if it is near enough to be a slip of the keyboard or a word cut short.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the letters may be wrong; the length bound keeps hostile keys cheap to compare.
    let most = (written.chars().count() / 3).clamp(1, 4);
    let distance = |name: &str| match name.strip_prefix(written) {
        Some(_) if written.len() >= 3 => 1,
        _ => strsim::damerau_levenshtein(written, name),
    };
    names
        .into_iter()
        .filter(|name| written.len() <= name.len() + 4)
        .map(|name| (distance(name), name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_enough_or_nothing() {
        let names = ["memory_limit", "mode", "mounts"];
        assert_eq!(nearest("memroy_limit", names), Some("memory_limit"));
        assert_eq!(nearest("mod", names), Some("mode"));
        assert_eq!(nearest("memory", names), Some("memory_limit"));
        assert_eq!(nearest("frobnicate", names), None);
        assert_eq!(nearest("", names), None);
    }
}
