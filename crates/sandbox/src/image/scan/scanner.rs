//! Scanners of others: started by their full path, in bounded time, and read as JSON. One that fails is said to
//! have failed; it never counts as having found nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cofferdam_core::dockerfile::rules::{Finding, Severity};
use cofferdam_core::inert::Inert;
use serde::Serialize;
use serde_json::Value;

use crate::engine::Endpoint;

/// A scanner that the host has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanner {
    kind: Kind,
    program: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Trivy,
    Grype,
    Snyk,
    Scout,
}

/// How a scanner fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScannerReport {
    pub name: String,
    pub findings: usize,
    /// Why it found nothing that can be relied on.
    pub failed: Option<String>,
}

const PATIENCE: Duration = Duration::from_secs(600);
const MOST_OUTPUT: u64 = 256 << 20;

impl Scanner {
    /// The names of all, and the programs that they are.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("trivy", "trivy"),
        ("grype", "grype"),
        ("snyk", "snyk"),
        ("docker scout", "docker-scout"),
    ];

    /// Those that are in one of the directories, each as it is found first.
    pub fn found(dirs: &[PathBuf]) -> Vec<Self> {
        let kinds = [Kind::Trivy, Kind::Grype, Kind::Snyk, Kind::Scout];
        let there = |kind: &Kind| {
            let mut paths = dirs.iter().map(|dir| dir.join(kind.program()));
            paths.find(|path| is_program(path)).map(|program| Self { kind: *kind, program })
        };
        kinds.iter().filter_map(there).collect()
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Trivy => "trivy",
            Kind::Grype => "grype",
            Kind::Snyk => "snyk",
            Kind::Scout => "docker scout",
        }
    }

    /// Has it look at an image of the engine there.
    pub(super) fn run(&self, at: &Endpoint, image: &str) -> (ScannerReport, Vec<Finding>) {
        let read = self.output(at, image).and_then(|bytes| {
            serde_json::from_slice::<Value>(&bytes).map_err(|_| "its answer is not JSON".to_owned())
        });
        let read = read.and_then(|value| {
            self.findings(&value).ok_or_else(|| "its answer has another form".to_owned())
        });
        let name = self.name().to_owned();
        match read {
            Ok(found) => (ScannerReport { name, findings: found.len(), failed: None }, found),
            Err(why) => (ScannerReport { name, findings: 0, failed: Some(why) }, Vec::new()),
        }
    }

    fn output(&self, at: &Endpoint, image: &str) -> Result<Vec<u8>, String> {
        let words: Vec<&str> = match self.kind {
            Kind::Trivy => vec!["image", "--quiet", "--format", "json", image],
            Kind::Grype => vec![image, "--quiet", "--output", "json"],
            Kind::Snyk => vec!["container", "test", "--json", image],
            Kind::Scout => vec!["scout", "cves", "--format", "sarif", image],
        };
        let mut child = Command::new(&self.program)
            .args(words)
            .envs(at.variables())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let out = thread::spawn(move || all_of(stdout));
        let errors = thread::spawn(move || all_of(stderr));
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
                ended => {
                    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
                    return Err(ended
                        .err()
                        .map_or("it took too long".to_owned(), |e| e.to_string()));
                }
            }
        };
        let said = |thread: thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
        let (bytes, errors) = (said(out), said(errors));
        // Snyk ends with 1 where it found something; that is told by what it says.
        let is_done = status.success() || (self.kind == Kind::Snyk && status.code() == Some(1));
        if is_done {
            return Ok(bytes);
        }
        let words: String = String::from_utf8_lossy(&errors).trim().chars().take(300).collect();
        Err(format!("it ended with {status}: {}", Inert::line(&words)))
    }

    fn findings(&self, value: &Value) -> Option<Vec<Finding>> {
        match self.kind {
            Kind::Trivy => self.trivy(value),
            Kind::Grype => {
                Some(value.get("matches")?.as_array()?.iter().map(|one| self.grype(one)).collect())
            }
            Kind::Snyk => {
                let all = value.get("vulnerabilities")?.as_array()?;
                Some(
                    all.iter()
                        .map(|one| {
                            self.finding(
                                one,
                                ["id", "severity", "title"],
                                package(one, "packageName", "version"),
                            )
                        })
                        .collect(),
                )
            }
            Kind::Scout => self.sarif(value),
        }
    }

    fn trivy(&self, value: &Value) -> Option<Vec<Finding>> {
        // An image in which there is nothing to look at has no results.
        value.get("SchemaVersion")?;
        let mut all = Vec::new();
        for result in value.get("Results").and_then(Value::as_array).into_iter().flatten() {
            let of = |name: &str| result.get(name).and_then(Value::as_array).into_iter().flatten();
            let target = result.get("Target").and_then(Value::as_str).unwrap_or_default();
            for one in of("Vulnerabilities") {
                let package = package(one, "PkgName", "InstalledVersion");
                all.push(self.finding(one, ["VulnerabilityID", "Severity", "Title"], package));
            }
            for (name, id) in [("Misconfigurations", "ID"), ("Secrets", "RuleID")] {
                all.extend(
                    of(name)
                        .map(|one| self.finding(one, [id, "Severity", "Title"], target.to_owned())),
                );
            }
        }
        Some(all)
    }

    fn grype(&self, one: &Value) -> Finding {
        let package = package(&one["artifact"], "name", "version");
        self.finding(&one["vulnerability"], ["id", "severity", "description"], package)
    }

    fn sarif(&self, value: &Value) -> Option<Vec<Finding>> {
        let mut all = Vec::new();
        for run in value.get("runs")?.as_array()? {
            let rules = run["tool"]["driver"]["rules"].as_array();
            for result in run.get("results").and_then(Value::as_array).into_iter().flatten() {
                let id = result["ruleId"].as_str().unwrap_or_default();
                let rule = rules.and_then(|rules| rules.iter().find(|rule| rule["id"] == id));
                let severity = rule.and_then(|rule| rule["properties"]["cvssV3_severity"].as_str());
                let severity = severity.or_else(|| result["level"].as_str()).unwrap_or_default();
                let title = rule.and_then(|rule| rule["shortDescription"]["text"].as_str());
                let title =
                    title.or_else(|| result["message"]["text"].as_str()).unwrap_or_default();
                let target = result.pointer("/locations/0/physicalLocation/artifactLocation/uri");
                all.push(self.made(
                    id,
                    severity,
                    title,
                    target.and_then(Value::as_str).unwrap_or_default(),
                ));
            }
        }
        Some(all)
    }

    fn finding(&self, one: &Value, [id, severity, title]: [&str; 3], target: String) -> Finding {
        let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
        self.made(text(id), text(severity), text(title), &target)
    }

    fn made(&self, id: &str, severity: &str, title: &str, target: &str) -> Finding {
        let short =
            |text: &str| text.lines().next().unwrap_or_default().chars().take(200).collect();
        Finding {
            source: self.name().to_owned(),
            id: short(id),
            severity: Severity::read(severity),
            title: short(title),
            target: short(target),
        }
    }
}

impl Kind {
    const fn program(self) -> &'static str {
        match self {
            Self::Trivy => "trivy",
            Self::Grype => "grype",
            Self::Snyk => "snyk",
            Self::Scout => "docker-scout",
        }
    }
}

fn package(one: &Value, name: &str, version: &str) -> String {
    let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text(name), text(version)).trim().to_owned()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn all_of(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was said before it broke off is all there is.
        stream.take(MOST_OUTPUT).read_to_end(&mut bytes).ok();
    }
    bytes
}
