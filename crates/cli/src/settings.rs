//! Settings from where they are kept: the host file, the project file, variables and flags.
//!
//! [`load`] reads them all and has the core join them. The project file is the nearest `cofferdam.yaml`
//! from the workspace upwards; whether it may loosen anything is for the [`trust`] store to say.

pub(crate) mod project;
pub(crate) mod trust;
mod variables;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cofferdam_core::config::{
    Anchor, ConfigError, Entries, FileLayer, Layer, Layers, MAX_FILE_BYTES, Origin, Resolved, Step,
    Trust, Warning, parse_file, resolve,
};
use cofferdam_core::inert::Inert;
use cofferdam_core::refusal::Refusal;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, refused};
use project::ProjectFile;
use trust::TrustStore;

/// What helps where a file is wrong.
pub(crate) const REFERENCE: &str = "`cofferdam config reference` lists every key";

/// Why there are no settings. It has no exit code of its own: to `run` it means that nothing ran, to other
/// commands that they failed, so each says which in [`LoadError::failure`].
#[derive(Debug)]
pub(crate) enum LoadError {
    /// A file, variable or flag is wrong; all that is wrong with it.
    Config(Vec<ConfigError>),
    /// A flag or variable asks for more than the host file allows.
    Refused(Refusal),
    /// Something is not where it would be read.
    Misplaced { error: anyhow::Error, remedy: String },
    /// Something could not be read.
    Read(anyhow::Error),
}

impl LoadError {
    pub(crate) fn failure(self, exit: Exit) -> Failure {
        match self {
            Self::Config(errors) => {
                let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
                Failure::new(exit, anyhow!("{}", lines.join("\n"))).hint(REFERENCE)
            }
            Self::Refused(refusal) => Failure { exit, ..refused(&refusal) },
            Self::Misplaced { error, remedy } => Failure::new(exit, error).hint(remedy),
            Self::Read(error) => Failure::new(exit, error),
        }
    }
}

impl From<anyhow::Error> for LoadError {
    fn from(error: anyhow::Error) -> Self {
        Self::Read(error)
    }
}

/// The settings for a run in `workspace`, every path in them absolute.
pub(crate) fn load(
    context: &Context,
    workspace: &Path,
    flags: Entries,
) -> Result<Resolved, LoadError> {
    Files::read(context, workspace)?.resolve(context, flags)
}

/// The settings by which changes to `workspace` are judged. Where the directory is gone, and the project file with it, the
/// host's word is what is left, and a warning says so.
pub(crate) fn load_to_judge(context: &Context, workspace: &Path) -> Result<Resolved, LoadError> {
    let files = match gone(workspace) {
        None => Files::read(context, workspace)?,
        Some(warning) => Files::of_the_host(context, workspace, warning)?,
    };
    files.resolve(context, Entries::default())
}

/// What is to be said where changes are judged and the directory that they are of is not there.
pub(crate) fn gone(workspace: &Path) -> Option<Warning> {
    let source = Some(workspace.display().to_string());
    (!workspace.is_dir()).then(|| Warning {
        origin: Origin { layer: Layer::Project, source, line: None },
        key: None,
        message: "the directory is not there, so the host's settings alone judge".to_owned(),
        remedy: None,
    })
}

/// What the files say, each read once, every path in them absolute.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    workspace: PathBuf,
    layers: Layers,
    /// What was found beside them.
    warnings: Vec<Warning>,
}

impl Files {
    pub(crate) fn read(context: &Context, workspace: &Path) -> Result<Self, LoadError> {
        let workspace = real(workspace).map_err(|error| LoadError::Misplaced {
            error,
            remedy: "name the directory of the project with --workspace, or go there".to_owned(),
        })?;
        let here = |base| Anchor { base, home: &context.home, workspace: &workspace };
        let host = host_entries(context, &here(&context.config_dir))?;
        let found = ProjectFile::find(&workspace, &context.home)?;
        let (project, trust) = match &found {
            Some(file) => {
                let trust = TrustStore::beneath(&context.state_dir).judge(file)?;
                (project_entries(file, &here(file.directory()))?, trust)
            }
            None => (Entries::default(), Trust::Untrusted),
        };
        let warnings = project::misnamed(&workspace, &context.home)?.as_deref().map(not_read);
        let warnings = warnings.into_iter().collect();
        let layers = Layers { host, project, trust, ..Layers::default() };
        Ok(Self { workspace, layers, warnings })
    }

    /// The host file's word, where there is no directory to look for another in.
    fn of_the_host(
        context: &Context,
        workspace: &Path,
        warning: Warning,
    ) -> Result<Self, LoadError> {
        let anchor = Anchor { base: &context.config_dir, home: &context.home, workspace };
        let host = host_entries(context, &anchor)?;
        let layers = Layers { host, ..Layers::default() };
        Ok(Self { workspace: workspace.to_owned(), layers, warnings: vec![warning] })
    }

    /// The files as they count for a command that has defaults of its own.
    pub(crate) fn over(mut self, defaults: Entries) -> Self {
        self.layers.defaults = defaults;
        self
    }

    /// The step of that name, and the files as they count for it.
    pub(crate) fn for_step(&self, name: &str) -> Option<(Step, Self)> {
        let (step, layers) = self.layers.for_step(name)?;
        Some((step, Self { layers, ..self.clone() }))
    }

    pub(crate) fn resolve(self, context: &Context, flags: Entries) -> Result<Resolved, LoadError> {
        let (variables, unknown) = variables::entries(&context.variables)?;
        let mut resolved = self.join(context, Typed { base: &context.cwd, variables, flags })?;
        unknown.into_iter().for_each(|warning| resolved.warn(warning));
        Ok(resolved)
    }

    /// The files, with what was said beside them.
    pub(crate) fn join(self, context: &Context, typed: Typed<'_>) -> Result<Resolved, LoadError> {
        let Typed { base, mut variables, mut flags } = typed;
        let typed = Anchor { base, home: &context.home, workspace: &self.workspace };
        typed.entries(&mut variables);
        typed.entries(&mut flags);
        let layers = Layers { variables, flags, ..self.layers };
        let mut resolved = resolve(layers).map_err(LoadError::Refused)?;
        typed.resolved(&mut resolved);
        self.warnings.into_iter().for_each(|warning| resolved.warn(warning));
        Ok(resolved)
    }
}

/// What is said beside files, and where relative paths in it start.
#[derive(Debug)]
pub(crate) struct Typed<'a> {
    pub(crate) base: &'a Path,
    pub(crate) variables: Entries,
    pub(crate) flags: Entries,
}

/// Where the host owner's settings are.
pub(crate) fn host_file(context: &Context) -> PathBuf {
    context.config_dir.join("config.yaml")
}

/// Where links lead from the host file, one by one, as where it lies among files that are kept elsewhere: who may replace one of
/// these decides what is enforced.
pub(crate) fn host_file_elsewhere(context: &Context) -> Vec<PathBuf> {
    let mut names = vec![host_file(context)];
    // The kernel follows no more either.
    while names.len() <= 40
        && let Some(next) = names.last().and_then(|name| led_to(name))
    {
        names.push(next);
    }
    names.split_off(1)
}

/// What a link names, with its directory by the name that it really has. `None` where it is no link.
fn led_to(link: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(std::fs::read_link(link).ok()?);
    Some(std::fs::canonicalize(target.parent()?).ok()?.join(target.file_name()?))
}

/// The host file's entries; none where there is no file.
pub(crate) fn host_entries(context: &Context, anchor: &Anchor<'_>) -> Result<Entries, LoadError> {
    let path = host_file(context);
    must_have_its_name(context)?;
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entries::default()),
        Err(error) => return Err(cannot_read(&path)(error).into()),
    };
    must_be_the_owners(&path, &file)?;
    let text = text(&path, file)?;
    parse(&text, &path, FileLayer::Host, anchor)
}

/// Names that an owner may take for the host file's. What such a file forbids would be allowed.
const NOT_THE_HOST_FILE: [&str; 3] = ["config.yml", "cofferdam.yaml", project::MISNAMED];

fn must_have_its_name(context: &Context) -> Result<(), LoadError> {
    let path = host_file(context);
    let names = NOT_THE_HOST_FILE.iter().map(|name| context.config_dir.join(name));
    let Some(other) = names.into_iter().find(|other| other.symlink_metadata().is_ok()) else {
        return Ok(());
    };
    let (other, path) = (Inert::path(&other), Inert::path(&path));
    Err(LoadError::Misplaced {
        error: anyhow!("{other} is not read, and what it says would not hold"),
        remedy: format!("the host file is {path}: rename it, or remove it"),
    })
}

/// Whoever can write the host file decides what is enforced, so it must be ours or root's alone.
fn must_be_the_owners(path: &Path, file: &File) -> anyhow::Result<()> {
    let metadata = file.metadata().map_err(cannot_read(path))?;
    let me = std::fs::metadata("/proc/self").map_err(cannot_read(path))?;
    let ours = [me.uid(), 0].contains(&metadata.uid());
    if ours && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(anyhow!(
        "{} belongs to another user or can be written by others, so it is not the host owner's word \
         (chown it, and chmod go-w)",
        Inert::path(path)
    ))
}

fn not_read(path: &Path) -> Warning {
    let source = Some(path.display().to_string());
    Warning {
        origin: Origin { layer: Layer::Project, source, line: None },
        key: None,
        message: format!("it is not read: the project file is {}", project::NAME),
        remedy: Some("rename it, or remove it".to_owned()),
    }
}

pub(crate) fn project_entries(
    file: &ProjectFile,
    anchor: &Anchor<'_>,
) -> Result<Entries, LoadError> {
    parse(&file.text, &file.path, FileLayer::Project, anchor)
}

/// Says each warning on a line of its own.
pub(crate) fn print_warnings(resolved: &Resolved, to: &mut dyn Write) -> io::Result<()> {
    resolved.warnings().iter().try_for_each(|warning| writeln!(to, "warning: {warning}"))
}

/// A directory with every symlink followed, so that upwards means one thing.
pub(crate) fn real(directory: &Path) -> anyhow::Result<PathBuf> {
    let real = std::fs::canonicalize(directory)
        .with_context(|| format!("cannot find the directory {}", Inert::path(directory)))?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(anyhow!(
            "{} is not a directory (name the directory of the project)",
            Inert::path(directory)
        )),
    }
}

fn parse(
    text: &str,
    path: &Path,
    layer: FileLayer,
    anchor: &Anchor<'_>,
) -> Result<Entries, LoadError> {
    let mut entries =
        parse_file(text, &path.to_string_lossy(), layer).map_err(LoadError::Config)?;
    anchor.entries(&mut entries);
    Ok(entries)
}

/// The text of an opened file. Stops reading where the file is larger than any settings; the parser then
/// says so.
pub(crate) fn text(path: &Path, file: File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FILE_BYTES)? + 1;
    file.take(most).read_to_end(&mut bytes).map_err(cannot_read(path))?;
    String::from_utf8(bytes)
        .map_err(|_| anyhow!("{} is not UTF-8: save it as UTF-8 text", Inert::path(path)))
}

fn cannot_read(path: &Path) -> impl FnOnce(io::Error) -> anyhow::Error + '_ {
    move |error| anyhow::Error::new(error).context(format!("cannot read {}", Inert::path(path)))
}
