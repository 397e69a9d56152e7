//! The modules that a strategy may import: those that compute, and none that reach out of the program.

/// Top-level names, sorted. A module below one of them is allowed with it.
const ALLOWED: &[&str] = &[
    "__future__",
    "abc",
    "array",
    "bisect",
    "calendar",
    "cmath",
    "collections",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "finlab",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "numbers",
    "numpy",
    "operator",
    "pandas",
    "pandas_ta",
    "random",
    "re",
    "scipy",
    "sklearn",
    "statistics",
    "statsmodels",
    "string",
    "ta",
    "talib",
    "textwrap",
    "time",
    "typing",
    "typing_extensions",
    "unicodedata",
    "uuid",
    "warnings",
    "zoneinfo",
];

/// Whether a strategy may import `module`, given with its dots.
pub fn is_allowed(module: &str) -> bool {
    let top = module.split('.').next().unwrap_or(module);
    ALLOWED.binary_search(&top).is_ok()
}

pub fn allowed() -> &'static [&'static str] {
    ALLOWED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_computes_is_allowed_and_what_reaches_out_is_not() {
        assert!(ALLOWED.is_sorted());
        for module in ["math", "numpy", "numpy.linalg", "pandas", "collections.abc"] {
            assert!(is_allowed(module), "{module}");
        }
        for module in
            ["os", "sys", "subprocess", "socket", "requests", "importlib", "", "mathx", "numpyx.a"]
        {
            assert!(!is_allowed(module), "{module}");
        }
    }
}
