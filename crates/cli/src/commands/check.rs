//! `cofferdam check`: a look at code before it is run.

mod files;

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use cofferdam_core::check::{FileReport, Level, Profile, sarif};
use cofferdam_core::command::BUILT_IN;
use cofferdam_core::config::{CheckSettings, Entries, nearest};
use cofferdam_core::inert::Inert;
use cofferdam_core::policy::matches_glob;
use cofferdam_sandbox::check::{InlineAllow, LARGEST_SOURCE, Lang, OWN_RULES, Source, Validator};
use serde_json::json as object;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings;
use crate::table::Table;

/// Look at source code for what it could do: Python, shell, JavaScript and TypeScript.
///
/// It is advice, not a wall: code that is not found here is harmless because of the sandbox. Exits with 1 where a
/// finding is at the level `deny`, with 0 otherwise.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam check src/                            # all files below it that are understood
  cofferdam check --profile strategy strategy.py
  generate | cofferdam check --language python -
  cofferdam check --sarif src/ > findings.sarif
  cofferdam check --list-rules")]
pub(crate) struct CheckArgs {
    /// Files, or directories to look through; `-` is standard input.
    #[arg(value_name = "FILE", required_unless_present = "list_rules")]
    files: Vec<PathBuf>,
    /// Levels to look with: off, agent, strategy [default: `check.profile`].
    #[arg(long, value_name = "NAME", value_parser = profile())]
    profile: Option<Profile>,
    /// A file with further rules, in the format of ast-grep (repeatable).
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Let findings of this rule fail the check; `*` stands for any text (repeatable).
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// What language the files are, where their names do not tell: python, shell, javascript, typescript, tsx.
    #[arg(long, value_name = "NAME", value_parser = language)]
    language: Option<Lang>,
    /// Print the rules and look at nothing.
    #[arg(long)]
    list_rules: bool,
    /// Print the findings as JSON.
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print the findings as SARIF 2.1.0.
    #[arg(long)]
    sarif: bool,
}

fn profile() -> impl clap::builder::TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::NAMES)
        .try_map(|name| Profile::parse(&name).ok_or("not a profile"))
}

fn language(name: &str) -> Result<Lang, String> {
    Lang::named(name)
        .ok_or_else(|| format!("{name:?} is not one of python, shell, javascript, typescript, tsx"))
}

pub(crate) fn run(
    args: &CheckArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let validator = validator(args, context)?;
    if args.list_rules {
        return list_rules(args, &validator, out);
    }
    let mut reports = Vec::new();
    for file in files::find(&args.files, args.language, &context.cwd)? {
        let bytes = match file.is_stdin() {
            true => read(io::stdin().lock()).context("cannot read standard input")?,
            false => std::fs::File::open(&file.path)
                .and_then(read)
                .with_context(|| format!("cannot read {}", Inert::path(&file.path)))?,
        };
        let Some(lang) = args.language.or_else(|| Lang::of_file(&file.path, &bytes)) else {
            if file.is_found {
                // A directory holds much that is not code.
                continue;
            }
            let message = format!("cannot tell what language {} is", Inert::path(&file.path));
            return Err(Failure::usage(message).hint("say it with --language"));
        };
        let source = Source { name: &file.name(), lang, bytes: &bytes };
        reports.push(validator.check(source)?);
    }
    if args.json {
        json::print(out, &object!({ "verdict": worst(&reports), "files": reports }))?;
    } else if args.sarif {
        json::print(out, &sarif::log(&reports, env!("CARGO_PKG_VERSION")))?;
    } else {
        show(&reports, out)?;
    }
    Ok(if worst(&reports) == Level::Deny { Exit::Failed } else { Exit::Fine })
}

/// What is larger than any source need not be read whole: the validator says so.
fn read(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(LARGEST_SOURCE).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn validator(args: &CheckArgs, context: &Context) -> Result<Validator, Failure> {
    made(args.profile, &args.deny, &args.rules, &context.cwd, context)
}

/// The validator of this profile, with the rules and levels of the settings that hold in `directory`.
pub(crate) fn of_profile(
    profile: Profile,
    directory: &Path,
    context: &Context,
) -> Result<Validator, Failure> {
    made(Some(profile), &[], &[], directory, context)
}

fn made(
    profile: Option<Profile>,
    deny: &[String],
    rules: &[PathBuf],
    directory: &Path,
    context: &Context,
) -> Result<Validator, Failure> {
    let mut settings = settings::load(context, directory, Entries::default())
        .map_err(|error| error.failure(Exit::Failed))?
        .settings()
        .check;
    settings.levels.profile = profile.unwrap_or(settings.levels.profile);
    settings.levels.deny.extend(deny.iter().cloned());
    settings.rules.extend(rules.iter().map(|path| context.resolve(path).into()));
    let validator = of_settings(&settings)?;
    match unknown_rule(&settings.levels.deny, &validator)? {
        None => Ok(validator),
        Some(Unknown { name, meant }) => {
            let meant = meant.map(|meant| format!(" (did you mean `{meant}`?)"));
            let message = format!("no rule is called {name}{}", meant.unwrap_or_default());
            Err(Failure::usage(message).hint("`cofferdam check --list-rules` lists them"))
        }
    }
}

/// The validator of settings whose paths are absolute.
pub(crate) fn of_settings(settings: &CheckSettings) -> Result<Validator, Failure> {
    let inline = if settings.suppressions { InlineAllow::Honoured } else { InlineAllow::Refused };
    let mut validator = Validator::new(settings.levels.clone(), inline);
    for path in &settings.rules {
        validator.add_rules(path).map_err(|error| {
            Failure::new(Exit::Usage, error)
                .hint("`docs/usage/check.md` shows a whole rule; every rule proves itself by its examples")
        })?;
    }
    Ok(validator)
}

/// A name in a list of rules that fits none: whoever wrote it relies on something that nothing does.
#[derive(Debug)]
pub(crate) struct Unknown {
    pub(crate) name: String,
    pub(crate) meant: Option<String>,
}

/// The first of these names that fits no rule.
pub(crate) fn unknown_rule(
    names: &[String],
    validator: &Validator,
) -> Result<Option<Unknown>, Failure> {
    if names.is_empty() {
        return Ok(None);
    }
    let rules = validator.rules()?;
    let known: Vec<&str> = rules
        .iter()
        .map(|rule| rule.id.as_str())
        .chain(OWN_RULES.iter().map(|rule| rule.id))
        // Scripts are judged by these.
        .chain(BUILT_IN.iter().map(|rule| rule.id))
        .collect();
    let fits = |name: &&String| known.iter().any(|rule| matches_glob(name, rule));
    let Some(name) = names.iter().find(|name| !fits(name)) else { return Ok(None) };
    let families = known.iter().filter_map(|rule| rule.split_once('/'));
    let families: BTreeSet<String> = families.map(|(family, _)| format!("{family}/*")).collect();
    let candidates = known.iter().copied().chain(families.iter().map(String::as_str));
    let meant = nearest(name, candidates).map(str::to_owned);
    Ok(Some(Unknown { name: Inert::line(name).to_string(), meant }))
}

fn worst(reports: &[FileReport]) -> Level {
    reports.iter().map(FileReport::worst).max().unwrap_or(Level::Off)
}

fn show(reports: &[FileReport], out: &mut dyn Write) -> io::Result<()> {
    let (mut denied, mut warned) = (0_usize, 0_usize);
    for report in reports {
        for finding in &report.findings {
            match finding.level {
                Level::Deny => denied += 1,
                Level::Warn | Level::Off => warned += 1,
            }
            let place = format!("{}:{}:{}", report.file, finding.line, finding.column);
            writeln!(
                out,
                "{}: {}: {} [{}]\n    {}\n    {}",
                Inert::line(&place),
                finding.level,
                Inert::line(&finding.message),
                finding.rule,
                Inert::line(&finding.excerpt),
                Inert::line(&finding.reason)
            )?;
        }
        if report.left_out > 0 {
            writeln!(
                out,
                "{}: {} more findings are not shown",
                Inert::line(&report.file),
                report.left_out
            )?;
        }
        if report.suppressed > 0 {
            writeln!(
                out,
                "{}: {} findings are silenced by comments",
                Inert::line(&report.file),
                report.suppressed
            )?;
        }
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let files = reports.len();
    let (s, t) = (plural(files), plural(warned));
    writeln!(out, "{files} file{s}, {denied} denied, {warned} warning{t}")
}

fn list_rules(
    args: &CheckArgs,
    validator: &Validator,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let rules = validator.rules()?;
    let own = OWN_RULES.iter().map(|rule| (rule.id, "all", rule.level, rule.message));
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| (rule.id.as_str(), rule.lang.name(), rule.level, rule.message.as_str()))
        .chain(own)
        .collect();
    if args.json {
        let rules: Vec<_> = rules
            .iter()
            .map(|(id, language, level, message)| object!({ "rule": id, "language": language, "level": level, "message": message }))
            .collect();
        json::print(out, &rules)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["RULE", "LANGUAGE", "LEVEL", "WHAT IT FINDS"]);
    for (id, language, level, message) in rules {
        table.row([id.to_owned(), language.to_owned(), level.to_string(), message.to_owned()]);
    }
    table.print(out)?;
    writeln!(
        out,
        "Shell scripts are judged by the rules for commands as well: `cofferdam policy rules`."
    )?;
    Ok(Exit::Fine)
}
