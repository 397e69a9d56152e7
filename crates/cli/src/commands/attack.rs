//! `cofferdam attack`: the adversarial suite, on this host.

mod junit;
mod page;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cofferdam_core::attack::{Attack, Group, all};
use cofferdam_core::backend::Backend;
use cofferdam_sandbox::attack::{Finding, Means, Report, Verdict, assail};
use serde::Serialize;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::table::Table;

/// Attack this host's sandboxes, and see what holds
///
/// Each attack is made in a sandbox that is started as you would start it, in a place of its own: a made-up home,
/// state and workspace that are thrown away. Nothing of yours is touched, and nothing is sent beyond the loopback. What
/// counts is what the host sees afterwards.
///
/// An attack counts as held only if it was made, and if it or a harmless twin succeeds where nothing stops it. What this
/// host cannot try is listed with the reason.
///
/// The exit code is 0 when all held that could be tried, 1 when one did not, or when nothing could be tried.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cofferdam attack                            every backend that confines
  cofferdam attack --sandbox native --group C escape and privileges, on native
  cofferdam attack --id C-mount               one attack
  cofferdam attack --sandbox local            the same acts where nothing stops them
  cofferdam attack --list                     what would be tried
  cofferdam attack --json --junit report.xml  for programs")]
pub(crate) struct AttackArgs {
    /// The backend to attack
    #[arg(long, visible_alias = "backend", value_name = "NAME", default_value = "all")]
    sandbox: Which,
    /// Only attacks of this group: A to G
    #[arg(long, value_name = "GROUP", value_parser = group)]
    group: Option<Group>,
    /// Only this attack; may be given several times
    #[arg(long, value_name = "ID", value_parser = known)]
    id: Vec<&'static Attack>,
    /// Print the attacks and make none
    #[arg(long)]
    list: bool,
    /// Print JSON: [{backend, unusable, findings: [{id, group, tried, holds, verdict, because}]}]
    #[arg(long)]
    json: bool,
    /// Also write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the results as a page in Markdown
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Native,
    Docker,
    Podman,
    Local,
    /// Native, docker and podman.
    All,
}

impl Which {
    fn backends(self) -> &'static [Backend] {
        match self {
            Self::Native => &[Backend::Native],
            Self::Docker => &[Backend::Docker],
            Self::Podman => &[Backend::Podman],
            Self::Local => &[Backend::Local],
            Self::All => &[Backend::Native, Backend::Docker, Backend::Podman],
        }
    }
}

fn group(letter: &str) -> Result<Group, String> {
    let named = Group::ALL.into_iter().find(|group| group.letter().eq_ignore_ascii_case(letter));
    named.ok_or_else(|| {
        let all = Group::ALL.map(|group| format!("{} ({})", group.letter(), group.title()));
        format!("the groups are {}", all.join(", "))
    })
}

fn known(id: &str) -> Result<&'static Attack, String> {
    let named = all().find(|attack| attack.id.eq_ignore_ascii_case(id));
    named.ok_or_else(|| "no attack is called so; `cofferdam attack --list` lists them".to_owned())
}

pub(crate) fn run(
    args: &AttackArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let chosen: Vec<&'static Attack> = all()
        .filter(|attack| args.group.is_none_or(|group| attack.group == group))
        .filter(|attack| args.id.is_empty() || args.id.iter().any(|one| one.id == attack.id))
        .collect();
    if chosen.is_empty() {
        return Err(Failure::usage("no attack is in that group and called so")
            .hint("give --group or --id alone; `cofferdam attack --list` lists them"));
    }
    if args.list {
        list(&chosen, args.json, out)?;
        return Ok(Exit::Fine);
    }
    let means = means(context)?;
    let mut reports = Vec::new();
    for backend in args.sandbox.backends() {
        let mut told = Ok(());
        let report = assail(&means, *backend, &chosen, |finding| {
            if !args.json && told.is_ok() {
                told = tell(*backend, finding, out);
            }
        })?;
        told?;
        if !args.json {
            writeln!(out, "{}\n", score(&report))?;
        }
        reports.push(report);
    }
    if args.json {
        json::print(out, &reports)?;
    }
    let write = |path: &PathBuf, text: String| {
        let path = context.resolve(path);
        let fail = |e| anyhow::Error::new(e).context(format!("cannot write {}", path.display()));
        std::fs::write(&path, text).map_err(fail)
    };
    if let Some(path) = &args.junit {
        write(path, junit::write(&reports))?;
    }
    if let Some(path) = &args.page {
        write(path, page::write(&reports))?;
    }
    Ok(exit(&reports))
}

fn exit(reports: &[Report]) -> Exit {
    let count = |verdict| reports.iter().map(|report| report.count(verdict)).sum::<usize>();
    let tried = count(Verdict::Held) + count(Verdict::KnownLimit) + count(Verdict::Open);
    match (count(Verdict::Broken), tried) {
        (0, 1..) => Exit::Fine,
        _ => Exit::Failed,
    }
}

/// Where programs and engines are, and nothing else of the environment.
fn means(context: &Context) -> Result<Means, Failure> {
    const NAMES: [&str; 9] = [
        "PATH",
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "DOCKER_TLS_VERIFY",
        "DOCKER_TLS",
        "DOCKER_CERT_PATH",
        "CONTAINER_HOST",
        "XDG_RUNTIME_DIR",
    ];
    let named =
        NAMES.iter().filter_map(|name| Some(((*name).into(), context.variable(name)?.clone())));
    let mut variables: Vec<(std::ffi::OsString, std::ffi::OsString)> = named.collect();
    if context.variable("DOCKER_CONFIG").is_none() {
        variables.push(("DOCKER_CONFIG".into(), context.home.join(".docker").into()));
    }
    let temporary = context.variable("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
    Ok(Means { program: std::env::current_exe()?, temporary, variables })
}

fn list(attacks: &[&'static Attack], json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct Listed {
        id: &'static str,
        group: Group,
        tried: &'static str,
        holds: &'static str,
        on: &'static [Backend],
        known_limit: Option<&'static str>,
    }
    if json {
        let listed = attacks.iter().map(|attack| Listed {
            id: attack.id,
            group: attack.group,
            tried: attack.tried,
            holds: attack.holds,
            on: attack.on,
            known_limit: attack.known.map(|known| known.why),
        });
        return json::print(out, &listed.collect::<Vec<_>>());
    }
    let mut table = Table::new(&["ID", "TRIED", "MUST HOLD"]);
    for attack in attacks {
        table.row([attack.id, attack.tried, attack.holds].map(str::to_owned));
    }
    table.print(out)
}

fn tell(backend: Backend, finding: &Finding, out: &mut dyn Write) -> std::io::Result<()> {
    let mark = match finding.verdict {
        Verdict::Held => "held",
        Verdict::Broken => "BROKEN",
        Verdict::KnownLimit => "limit",
        Verdict::NotRun => "not run",
        Verdict::Open => "open",
    };
    let because = finding.because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let name = backend.name();
    let line = format!("{name:<7} {mark:<8} {:<26} {}{because}", finding.id, finding.tried);
    writeln!(out, "{}", cofferdam_core::inert::Inert::line(line.trim_end()))
}

fn score(report: &Report) -> String {
    let Report { backend, unusable, .. } = report;
    let count = |verdict| report.count(verdict);
    let (held, broken) = (count(Verdict::Held), count(Verdict::Broken));
    let (known, not_run) = (count(Verdict::KnownLimit), count(Verdict::NotRun));
    match unusable {
        Some(why) => {
            let why = cofferdam_core::inert::Inert::line(why);
            format!("{backend}: nothing could be tried: {why}")
        }
        None if !backend.confines() => {
            format!(
                "{backend} confines nothing: {} of these acts succeed here",
                count(Verdict::Open)
            )
        }
        None => format!(
            "{backend}: {held} of {} held, {broken} broken, {known} known limits; {not_run} not run",
            held + broken + known
        ),
    }
}
