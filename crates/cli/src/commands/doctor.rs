//! `cofferdam doctor`: what this host can enforce, and what to do about the rest.

use std::env;
use std::io::Write;

use clap::{Args, ValueEnum};
use cofferdam_core::backend::Backend;
use cofferdam_sandbox::doctor::{self, BackendVerdict, Check, Place, Status};
use serde::Serialize;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;

/// Show what this host can enforce
///
/// Everything is found out by trying, and nothing is left behind. Under what does not work stands what to
/// do about it.
///
/// The exit code is 0 when a backend that confines can be used here (with --backend: when that one can)
/// and 1 when not.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cofferdam doctor                    all checks, and which backends can serve
  cofferdam doctor --backend native   only what the native backend needs
  cofferdam doctor --json             the same for a program")]
pub(crate) struct DoctorArgs {
    /// Look only at what this backend needs
    #[arg(long, value_name = "NAME")]
    backend: Option<Name>,

    /// Print JSON: {checks: [{id, title, status, detail, remedy}], backends: [{backend, usable, because}]}
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    Docker,
    Podman,
    Native,
    Local,
}

impl From<Name> for Backend {
    fn from(name: Name) -> Self {
        match name {
            Name::Docker => Self::Docker,
            Name::Podman => Self::Podman,
            Name::Native => Self::Native,
            Name::Local => Self::Local,
        }
    }
}

pub(crate) fn run(
    args: &DoctorArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let place = place(context);
    let report = Report::make(&place, args.backend.map(Backend::from));
    if args.json {
        json::print(out, &report)?;
    } else {
        report.print(out)?;
    }
    Ok(report.exit())
}

/// What this host can enforce, as `--json` prints it.
pub(crate) fn report(context: &Context) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(Report::make(&place(context), None))
}

fn place(context: &Context) -> Place {
    let path = context.variable("PATH").map(|path| env::split_paths(path).collect());
    Place {
        state_dir: context.state_dir.clone(),
        path: path.unwrap_or_default(),
        engines: context.engines(),
    }
}

#[derive(Debug, Serialize)]
struct Report {
    checks: Vec<Check>,
    backends: Vec<BackendVerdict>,
    #[serde(skip)]
    asked: Option<Backend>,
}

impl Report {
    fn make(place: &Place, asked: Option<Backend>) -> Self {
        let checks = match asked {
            Some(backend) => doctor::examine_for(place, backend),
            None => doctor::examine(place),
        };
        let mut backends = doctor::verdict(&checks);
        backends.retain(|verdict| asked.is_none_or(|backend| verdict.backend == backend));
        Self { checks, backends, asked }
    }

    fn exit(&self) -> Exit {
        let counts = |backend: Backend| self.asked.is_some() || backend.confines();
        match self.backends.iter().any(|one| one.usable && counts(one.backend)) {
            true => Exit::Fine,
            false => Exit::Failed,
        }
    }

    /// Details and remedies are inert when they come: nothing in them has to be escaped again.
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let width = self.checks.iter().map(|check| check.id.len()).max().unwrap_or(0);
        for check in &self.checks {
            writeln!(out, "{:<4}  {:<width$}  {}", mark(check.status), check.id, check.detail)?;
            let bad = check.status >= Status::Warn;
            // Who asks about one backend wants to know how to get it, even if it was never installed.
            if let Some(remedy) = check.remedy.as_ref().filter(|_| bad || self.asked.is_some()) {
                writeln!(out, "{:<4}  {:<width$}  remedy: {remedy}", "", "")?;
            }
        }
        writeln!(out)?;
        for BackendVerdict { backend, usable, because } in &self.backends {
            let word = if *usable { "usable" } else { "not usable" };
            writeln!(out, "{:<6}  {word}: {because}", backend.name())?;
        }
        Ok(())
    }
}

const fn mark(status: Status) -> &'static str {
    match status {
        Status::NotApplicable => "-",
        Status::Ok => "ok",
        Status::Warn => "warn",
        Status::Fail => "FAIL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(asked: Option<Backend>, usable: &[Backend]) -> Report {
        let mut backends: Vec<_> = Backend::ALL
            .into_iter()
            .map(|backend| BackendVerdict {
                backend,
                usable: usable.contains(&backend),
                because: "of it".to_owned(),
            })
            .collect();
        backends.retain(|verdict| asked.is_none_or(|backend| verdict.backend == backend));
        Report { checks: Vec::new(), backends, asked }
    }

    #[test]
    fn fine_means_that_something_confines() {
        assert_eq!(report(None, &[Backend::Native, Backend::Local]).exit(), Exit::Fine);
        assert_eq!(report(None, &[Backend::Podman]).exit(), Exit::Fine);
        assert_eq!(report(None, &[Backend::Local]).exit(), Exit::Failed);
        assert_eq!(report(None, &[]).exit(), Exit::Failed);
    }

    #[test]
    fn one_that_was_asked_for_decides_alone() {
        assert_eq!(report(Some(Backend::Docker), &[Backend::Native]).exit(), Exit::Failed);
        assert_eq!(report(Some(Backend::Native), &[Backend::Native]).exit(), Exit::Fine);
        assert_eq!(report(Some(Backend::Local), &[Backend::Local]).exit(), Exit::Fine);
        assert_eq!(report(Some(Backend::Local), &[]).exit(), Exit::Failed);
    }

    #[test]
    fn a_line_a_check_and_its_remedy_beneath() {
        let check = |id, status, remedy: Option<&str>| Check {
            id,
            title: "a thing",
            status,
            detail: "seen".to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let mut report = report(Some(Backend::Local), &[Backend::Local]);
        report.checks = vec![
            check("a.long", Status::Ok, None),
            check("b.c", Status::Fail, Some("do this")),
            check("d.e", Status::NotApplicable, Some("do that")),
        ];
        let text = |report: &Report| {
            let mut out = Vec::new();
            report.print(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(&report),
            "ok    a.long  seen\n\
             FAIL  b.c     seen\n              remedy: do this\n\
             -     d.e     seen\n              remedy: do that\n\
             \nlocal   usable: of it\n"
        );
        report.asked = None;
        assert!(!text(&report).contains("do that"));
        assert!(text(&report).contains("do this"));
    }
}
