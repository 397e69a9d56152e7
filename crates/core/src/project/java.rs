//! Java: Maven and Gradle builds.

use regex::Regex;

use super::version::Version;
use super::{Language, Note, Part, System, Told, Tool, Tree, choose, tools, tree};

pub(super) const KNOWN: &[Version] =
    &[Version::major(8), Version::major(11), Version::major(17), Version::major(21)];

const GRADLE: &[&str] =
    &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];

/// Where Maven's and Gradle's files name the version.
const PLACES: &[&str] = &[
    r"<maven\.compiler\.release>([^<]*)<",
    r"<java\.version>([^<]*)<",
    r"<maven\.compiler\.target>([^<]*)<",
    r"<release>([^<]*)</release>",
    r"JavaLanguageVersion\.of\(([^)]*)\)",
    r"jvmToolchain\(([^)]*)\)",
    r"JavaVersion\.VERSION_(?:1_)?([0-9]+)",
    r#"(?:source|target)Compatibility\s*=\s*["']?([0-9.]+)"#,
];

pub(super) fn find(tree: &Tree, notes: &mut Vec<Note>) -> Option<Part> {
    let maven = tree.dirs_with(&["pom.xml"]);
    let gradle = tree.dirs_with(GRADLE);
    let is_gradle = maven.is_empty();
    let dirs = if is_gradle { gradle } else { maven };
    dirs.first()?;
    let mise = tools::mise(tree);
    let mut told = Vec::new();
    told.extend(tree.text(".java-version").map(|text| Told::new(".java-version", text)));
    told.extend(tools::told(tree, Language::Java, &mise));
    let names: &[&str] = if is_gradle { GRADLE } else { &["pom.xml"] };
    for (dir, name) in dirs.iter().flat_map(|dir| names.iter().map(move |name| (dir, name))) {
        let Some(text) = tree.at(dir, name) else { continue };
        let found = PLACES.iter().find_map(|place| {
            let found = Regex::new(place).ok()?.captures(text)?.get(1)?;
            // A property that stands elsewhere.
            (!found.as_str().trim().starts_with('$')).then_some(found.as_str())
        });
        told.extend(found.map(|text| Told::new(tree::join(dir, name), text)));
    }
    let (version, _) = choose(Language::Java, &told, KNOWN, notes);
    // 1.8 is what 8 was called.
    let version = match version {
        Version { major: 1, minor: Some(minor), .. } => Version::major(minor),
        other => Version::major(other.major),
    };
    let why = match told.first() {
        Some(told) => format!("Java {version}, by {}", told.file),
        None => format!("Java {version}, as no file says which"),
    };
    let (tool, by) = match is_gradle {
        true => (Tool::Gradle, "Gradle, by its build file"),
        false => (Tool::Maven, "Maven, as there is a pom.xml"),
    };
    let because = "Debian's kind, as that is what the base with this tool is made of";
    Some(Part {
        language: Language::Java,
        version,
        tool,
        tool_version: wrapper(tree),
        dirs,
        system: System::Debian,
        reasons: vec![why, by.to_owned(), because.to_owned()],
    })
}

/// The version that Gradle's wrapper would fetch.
fn wrapper(tree: &Tree) -> Option<Version> {
    let text = tree.text("gradle/wrapper/gradle-wrapper.properties")?;
    let rest = text.split_once("gradle-")?.1;
    rest.split('-').next()?.parse().ok()
}
