//! The `.dockerignore`: what an engine is never sent.

use super::{Language, Part};

pub const NAME: &str = ".dockerignore";

const SECRETS: &[&str] = &[
    "**/.env",
    "**/.env.*",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/*.jks",
    "**/*.keystore",
    "**/id_rsa*",
    "**/id_ed25519*",
    "**/.npmrc",
    "**/.pypirc",
    "**/.netrc",
    "**/.aws",
    "**/.ssh",
    "**/.gnupg",
    "**/credentials*",
    "**/secrets*",
    "**/*.tfstate*",
    "**/kubeconfig*",
];

const HISTORY: &[&str] = &["**/.git", "**/.hg", "**/.svn", "**/.jj"];

const WORK: &[&str] = &["**/.vscode", "**/.idea", "**/.DS_Store", "**/*.log", "**/*.swp", "**/tmp"];

pub fn dockerignore(parts: &[Part]) -> String {
    let mut text = String::from("# Made by `cofferdam init`: what is never sent to an engine.\n");
    let mut section = |title: &str, patterns: &[&str]| {
        text.push_str(&format!("\n# {title}\n"));
        patterns.iter().for_each(|pattern| text.push_str(&format!("{pattern}\n")));
    };
    section("Secrets", SECRETS);
    section("History", HISTORY);
    section("Editors and leftovers", WORK);
    for part in parts {
        section(&format!("Built by {}", part.language.name()), output(part.language));
    }
    text
}

fn output(language: Language) -> &'static [&'static str] {
    match language {
        Language::Go => &["**/bin", "**/*.test", "**/coverage.out"],
        Language::Node => {
            &["**/node_modules", "**/dist", "**/build", "**/.next", "**/.turbo", "**/coverage"]
        }
        Language::Python => &[
            "**/__pycache__",
            "**/*.pyc",
            "**/.venv",
            "**/venv",
            "**/.pytest_cache",
            "**/.mypy_cache",
            "**/*.egg-info",
            "**/dist",
        ],
        Language::Rust | Language::Java => &["**/target", "**/build", "**/.gradle"],
        Language::Ruby => &["**/vendor/bundle", "**/.bundle", "**/coverage"],
    }
}
