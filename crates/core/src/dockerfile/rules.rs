//! What is unwise in a Dockerfile or in an image, by rules with names. Purely by looking.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Dockerfile, Instruction, is_remote};
use crate::changes::secret;
use crate::env::EnvName;
use crate::inert::Inert;
use crate::spec::Threshold;

/// How bad something is. Ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Unknown,
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// As scanners write it, in whatever case.
    pub fn read(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "critical" => Self::Critical,
            "high" | "error" => Self::High,
            "medium" | "moderate" | "warning" => Self::Medium,
            "low" | "negligible" | "minor" | "note" => Self::Low,
            _ => Self::Unknown,
        }
    }

    /// Whether a threshold is reached.
    pub fn reaches(self, threshold: Threshold) -> bool {
        let least = match threshold {
            Threshold::Off => return false,
            Threshold::Critical => Self::Critical,
            Threshold::High => Self::High,
            Threshold::Medium => Self::Medium,
            Threshold::Low => Self::Low,
        };
        self >= least
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Who found it: `cofferdam`, or a scanner's name.
    pub source: String,
    /// The rule's name, or that of a known weakness.
    pub id: String,
    pub severity: Severity,
    pub title: String,
    /// Where: a line of the Dockerfile, the image's settings, a package.
    pub target: String,
}

/// A rule of ours.
#[derive(Debug, Clone, Copy)]
struct Rule {
    id: &'static str,
    severity: Severity,
    title: &'static str,
}

const fn rule(id: &'static str, severity: Severity, title: &'static str) -> Rule {
    Rule { id, severity, title }
}

const ROOT: Rule = rule("CD001", Severity::High, "programs run as root");
const SECRET: Rule = rule("CD002", Severity::Critical, "a secret is written into it");
const LATEST: Rule = rule("CD003", Severity::Medium, "the base is not pinned to a version");
const REMOTE: Rule = rule("CD004", Severity::Medium, "ADD fetches something that nothing checks");
const PIPED: Rule = rule("CD005", Severity::High, "a script is fetched and run unseen");
const FRONTEND: Rule = rule("CD006", Severity::High, "another program reads the file (# syntax=)");
const REACH: Rule =
    rule("CD007", Severity::High, "an instruction reaches for the host or for a secret");
const SECRET_FILE: Rule =
    rule("CD008", Severity::High, "a file that usually holds a secret is copied");
const SUDO: Rule = rule("CD009", Severity::Medium, "sudo lets the user become root");
const OPEN: Rule = rule("CD010", Severity::Medium, "files are made writable for everybody (777)");
const UNDIGESTED: Rule = rule("CD011", Severity::Low, "the base is not pinned by its digest");
const SSH: Rule = rule("CD012", Severity::Medium, "a port for remote shells is exposed");
const TRIGGER: Rule = rule("CI001", Severity::Medium, "the image carries ONBUILD triggers");
const VOLUME: Rule = rule("CI002", Severity::Low, "the image asks for volumes of its own");

impl Rule {
    fn at(self, target: impl Into<String>) -> Finding {
        Finding {
            source: "cofferdam".to_owned(),
            id: self.id.to_owned(),
            severity: self.severity,
            title: self.title.to_owned(),
            target: target.into(),
        }
    }
}

/// What is unwise in a Dockerfile.
pub fn findings(file: &Dockerfile) -> Vec<Finding> {
    let mut found = Vec::new();
    if file.directives.contains_key("syntax") {
        found.push(FRONTEND.at("line 1"));
    }
    let mut user: Option<&Instruction> = None;
    for instruction in &file.instructions {
        let mut hit = |rule: Rule| found.push(rule.at(format!("line {}", instruction.line)));
        match instruction.keyword.as_str() {
            "FROM" => user = None,
            "USER" => user = Some(instruction),
            "ENV" | "ARG" | "LABEL" if writes_secret(&instruction.rest) => hit(SECRET),
            "ADD" | "COPY" => {
                let words = instruction.words();
                let files = words.split_last().map_or(&[][..], |(_, files)| files);
                if instruction.keyword == "ADD" && files.iter().any(|file| is_remote(file)) {
                    hit(REMOTE);
                }
                if instruction.flag("from").is_none()
                    && files.iter().any(|file| holds_secrets(file))
                {
                    hit(SECRET_FILE);
                }
            }
            "RUN" => run(instruction, &mut hit),
            "EXPOSE"
                if instruction.words().iter().any(|port| port.split('/').next() == Some("22")) =>
            {
                hit(SSH)
            }
            _ => {}
        }
    }
    for base in file.bases() {
        match base {
            Ok(image) => {
                let version = image.parts().version.to_owned();
                if version == "latest" {
                    found.push(LATEST.at(image.to_string()));
                }
                if !version.starts_with("sha256:") && !version.starts_with("sha512:") {
                    found.push(UNDIGESTED.at(image.to_string()));
                }
            }
            Err(text) => found.push(LATEST.at(Inert::line(&text).to_string())),
        }
    }
    if user.is_none_or(|user| is_root(&user.rest)) && !file.instructions.is_empty() {
        let line = user.map_or("the end".to_owned(), |user| format!("line {}", user.line));
        found.push(ROOT.at(line));
    }
    found
}

fn run(instruction: &Instruction, hit: &mut dyn FnMut(Rule)) {
    let text = &instruction.rest;
    let words: Vec<&str> = text.split([' ', '\t', ';', '&', '(', '{']).collect();
    let fetches = words.iter().any(|word| matches!(*word, "curl" | "wget"));
    let shells = ["sh", "bash", "zsh", "python", "python3"];
    let is_piped = text.split('|').skip(1).any(|after| {
        let word = after.split_whitespace().find(|word| *word != "sudo");
        word.is_some_and(|word| shells.contains(&word.rsplit('/').next().unwrap_or(word)))
    });
    if fetches && is_piped {
        hit(PIPED);
    }
    if words.contains(&"sudo") {
        hit(SUDO);
    }
    if words.contains(&"777") || words.contains(&"a+rwx") {
        hit(OPEN);
    }
    if writes_secret(text) {
        hit(SECRET);
    }
    let reaches = instruction.flags.iter().any(|(name, value)| match name.as_str() {
        "mount" => !value.contains("type=cache") && !value.contains("type=tmpfs"),
        "network" | "security" => true,
        _ => false,
    });
    if reaches {
        hit(REACH);
    }
}

fn is_root(user: &str) -> bool {
    matches!(user.trim().split(':').next(), None | Some("" | "0" | "root"))
}

/// A value that looks like a key, or a name that sounds like a secret with a value behind it.
fn writes_secret(text: &str) -> bool {
    let named =
        text.split_whitespace().filter_map(|word| word.split_once('=')).any(|(name, value)| {
            let value = value.trim_matches(['"', '\'']);
            let is_given = !value.is_empty() && !value.starts_with('$');
            is_given && name.parse::<EnvName>().is_ok_and(|name| name.sounds_secret())
        });
    named || !secret::scan(text.as_bytes()).is_empty()
}

fn holds_secrets(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    matches!(
        name,
        ".env"
            | ".npmrc"
            | ".pypirc"
            | ".netrc"
            | ".git-credentials"
            | "id_rsa"
            | "id_ed25519"
            | ".ssh"
            | ".aws"
    ) || name.starts_with(".env.")
        || [".pem", ".key", ".p12", ".pfx"].iter().any(|end| name.ends_with(end))
}

/// What is unwise in an image, by what an engine says about it: its settings and its history.
pub fn image_findings(inspected: &Value, history: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    let config = &inspected["Config"];
    if is_root(config["User"].as_str().unwrap_or_default()) {
        found.push(ROOT.at("the image's user"));
    }
    for variable in config["Env"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if writes_secret(variable) {
            let name = variable.split('=').next().unwrap_or_default();
            found.push(SECRET.at(format!("the variable {}", Inert::line(name))));
        }
    }
    for (at, layer) in history.as_array().into_iter().flatten().enumerate() {
        if writes_secret(layer["CreatedBy"].as_str().unwrap_or_default()) {
            found.push(SECRET.at(format!("layer {at} of its history")));
        }
    }
    if config["OnBuild"].as_array().is_some_and(|all| !all.is_empty()) {
        found.push(TRIGGER.at("the image"));
    }
    if config["Volumes"].as_object().is_some_and(|all| !all.is_empty()) {
        found.push(VOLUME.at("the image"));
    }
    let ports = config["ExposedPorts"].as_object();
    if ports.is_some_and(|ports| ports.keys().any(|port| port.starts_with("22/"))) {
        found.push(SSH.at("the image"));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(text: &str) -> Vec<String> {
        findings(&Dockerfile::parse(text)).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn each_rule_finds_what_it_is_about() {
        let pinned = format!("FROM a:1@sha256:{}\n", "0a".repeat(32));
        for (id, bad, good) in [
            ("CD001", "USER 0\n", "USER 1000:1000\n"),
            ("CD002", "ENV API_TOKEN=abc123\nUSER 1\n", "ENV MODE=x\nUSER 1\n"),
            (
                "CD002",
                "RUN export DB_PASSWORD=hunter22 && x\nUSER 1\n",
                "RUN x $DB_PASSWORD\nUSER 1\n",
            ),
            ("CD004", "ADD https://example.com/x /x\nUSER 1\n", "ADD x /x\nUSER 1\n"),
            (
                "CD005",
                "RUN curl -s https://example.com/i | sh\nUSER 1\n",
                "RUN curl -o x https://example.com/i\nUSER 1\n",
            ),
            (
                "CD007",
                "RUN --mount=type=bind,target=/h x\nUSER 1\n",
                "RUN --mount=type=cache,target=/h x\nUSER 1\n",
            ),
            ("CD008", "COPY .env /app/\nUSER 1\n", "COPY env /app/\nUSER 1\n"),
            ("CD009", "RUN sudo make\nUSER 1\n", "RUN make\nUSER 1\n"),
            ("CD010", "RUN chmod 777 /x\nUSER 1\n", "RUN chmod 755 /x\nUSER 1\n"),
            ("CD012", "EXPOSE 22/tcp\nUSER 1\n", "EXPOSE 8080\nUSER 1\n"),
        ] {
            assert!(ids(&format!("{pinned}{bad}")).contains(&id.to_owned()), "{id}: {bad}");
            assert!(
                ids(&format!("{pinned}{good}")).is_empty(),
                "{id}: {good}: {:?}",
                ids(&format!("{pinned}{good}"))
            );
        }
        assert_eq!(ids("FROM a\nUSER 1\n"), ["CD003", "CD011"]);
        assert_eq!(ids("FROM a:latest\nUSER 1\n"), ["CD003", "CD011"]);
        assert_eq!(ids("# syntax=x\nFROM a:1\nUSER 1\n"), ["CD006", "CD011"]);
        assert_eq!(ids("FROM a:1\nUSER 1\nFROM b:1\n"), ["CD011", "CD011", "CD001"]);
    }

    #[test]
    fn an_image_is_judged_by_its_settings_and_history() {
        let inspected = json!({ "Config": { "User": "", "Env": ["PATH=/bin", "AWS_SECRET_ACCESS_KEY=abc"], "OnBuild": ["RUN x"], "Volumes": {"/d": {}}, "ExposedPorts": {"22/tcp": {}} } });
        let history =
            json!([{ "CreatedBy": "RUN NPM_TOKEN=abc npm ci" }, { "CreatedBy": "COPY x" }]);
        let found = image_findings(&inspected, &history);
        let ids: Vec<_> = found.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, ["CD001", "CD002", "CD002", "CI001", "CI002", "CD012"]);
        assert!(found.iter().all(|finding| !finding.target.contains("abc")));
        let fine = json!({ "Config": { "User": "1000:1000", "Env": ["PATH=/bin"] } });
        assert!(image_findings(&fine, &json!([])).is_empty());
    }

    #[test]
    fn severities_reach_thresholds() {
        assert!(
            Severity::High.reaches(Threshold::Medium) && !Severity::Low.reaches(Threshold::Medium)
        );
        assert!(!Severity::Critical.reaches(Threshold::Off));
        assert_eq!(Severity::read("CRITICAL"), Severity::Critical);
        assert_eq!(Severity::read("Negligible"), Severity::Low);
    }
}
