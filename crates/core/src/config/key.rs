//! The table of keys: name, flag, who may set it, form, what counts as stricter, default, meaning.

use serde::{Deserialize, Serialize};

use super::form::{Form, Texts};
use super::strict::Way;
use super::value::Value;
use crate::backend::BackendChoice;
use crate::check::Profile;
use crate::command::Verdict;
use crate::quantity::{ByteSize, Cpus, Span};
use crate::spec::{Mode, Network, Proof, Pull, Relax, Seccomp, Threshold};

/// Who may set a key in a file. Variables and flags exist only for keys that have a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The host file and the project file.
    Files,
    /// The host file alone: what the project file says is never honoured, trusted or not.
    HostFile,
    /// The host file alone, and a project file that has it is wrong: a yes to an agent is not a project's to give.
    Owner,
}

macro_rules! table {
    ($($key:ident $name:literal, $flag:expr, $scope:ident, $form:expr, $way:ident, $default:expr, $doc:literal;)+) => {
        /// A setting, by its dotted name in the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Key {
            $(#[serde(rename = $name)] $key),+
        }

        impl Key {
            pub const ALL: &'static [Self] = &[$(Self::$key),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$key => $name),+ }
            }

            /// The flag of `cofferdam run` that sets it.
            pub const fn flag(self) -> Option<&'static str> {
                match self { $(Self::$key => $flag),+ }
            }

            pub const fn scope(self) -> Scope {
                match self { $(Self::$key => Scope::$scope),+ }
            }

            /// What it means, for the reference page.
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$key => $doc),+ }
            }

            /// The value where nobody set one.
            pub fn default(self) -> Value {
                match self { $(Self::$key => $default),+ }
            }

            pub(super) const fn form(self) -> Form {
                match self { $(Self::$key => $form),+ }
            }

            pub(super) const fn way(self) -> Way {
                match self { $(Self::$key => Way::$way),+ }
            }
        }
    };
}

table! {
    SandboxEnabled "sandbox.enabled", None, HostFile,
        Form::Switch, TrueIsStricter, Value::Switch(true),
        "Whether commands are sandboxed at all. `false` runs them on the bare host.";
    SandboxBackend "sandbox.backend", Some("--sandbox"), Files,
        Form::Backend, Confining, Value::Backend(BackendChoice::Auto),
        "What carries the run out. `auto` takes Docker, else Podman, else native, and never `local`. \
         `local` is no sandbox; the project file cannot choose it.";
    SandboxFallbackToDirect "sandbox.fallback_to_direct", None, HostFile,
        Form::Switch, FalseIsStricter, Value::Switch(false),
        "Whether a run goes to the bare host where no backend can confine it. `false` refuses it.";
    SandboxImage "sandbox.image", Some("--image"), Files,
        Form::Image, Free, Value::Image(None),
        "Image for the container backends. `null` is the project's own image if it is built, else \
         `host`: the host's own system tree, read-only.";
    SandboxPull "sandbox.pull", Some("--pull"), Files,
        Form::Pull, Ordered, Value::Pull(Pull::Never),
        "When an image is fetched from its registry. `never` runs only what the engine has, `missing` fetches \
         what it has not, `always` asks anew before every run.";
    SandboxPullTimeout "sandbox.pull_timeout", None, Files,
        Form::Span { min: Span::secs(1), max: Span::secs(86_400) }, Smaller,
        Value::Span(Span::secs(600)),
        "Time that fetching an image may take.";
    SandboxMode "sandbox.mode", Some("--mode"), Files,
        Form::Mode, Ordered, Value::Mode(Mode::Stage),
        "What the program may do to the workspace. `stage` keeps its writes apart until they are \
         applied, `readonly` makes them fail, `direct` lets them through at once.";
    SandboxNetwork "sandbox.network", Some("--network"), Files,
        Form::Network, Ordered, Value::Network(Network::None),
        "What the program can reach. `allow` is the hosts of `allow_hosts` and nothing else.";
    SandboxAllowHosts "sandbox.allow_hosts", Some("--allow-host"), Files,
        Form::Texts(Texts::Hosts), Fewer, Value::Texts(Vec::new()),
        "Hosts that may be reached with `network: allow`, each `HOST` or `HOST:PORT`.";
    SandboxMemoryLimit "sandbox.memory_limit", Some("--memory"), Files,
        Form::Size { min: ByteSize::mib(1), max: None }, Smaller, Value::Size(ByteSize::mib(2048)),
        "Most memory, swap included. What is asked for beyond the host's memory is refused; on a host with less than the \
         default, the default is what it has.";
    SandboxCpuLimit "sandbox.cpu_limit", Some("--cpus"), Files,
        Form::Cpus, Smaller, Value::Cpus(Cpus { millis: 2000 }),
        "Most processor time, in processors.";
    SandboxPidsLimit "sandbox.pids_limit", Some("--pids"), Files,
        Form::Count { min: 1, max: 4_194_304 }, Smaller, Value::Count(512),
        "Most processes and threads at once.";
    SandboxTimeout "sandbox.timeout", Some("--timeout"), Files,
        Form::Span { min: Span::secs(1), max: DAY }, Smaller, Value::Span(Span::secs(600)),
        "How long a run may take. A bare number is seconds.";
    SandboxIdleTimeout "sandbox.idle_timeout", Some("--idle-timeout"), Files,
        Form::SpanOrOff { min: Span::secs(1), max: DAY }, Smaller, Value::SpanOrOff(None),
        "How long a run may be silent, with no output, before it is stopped.";
    SandboxStopGrace "sandbox.stop_grace", None, Files,
        Form::Span { min: Span::secs(0), max: Span::secs(600) }, Smaller, Value::Span(Span::secs(10)),
        "Time between asking a run to stop and killing it.";
    SandboxReadonlyRoot "sandbox.readonly_root", None, Files,
        Form::Switch, TrueIsStricter, Value::Switch(true),
        "Whether everything but the workspace, the tmpfs and writable mounts is read-only.";
    SandboxTmpfs "sandbox.tmpfs", None, Files,
        Form::Tmpfs { min: ByteSize::mib(1) }, Fewer,
        Value::Tmpfs([("/tmp".into(), ByteSize::mib(512))].into()),
        "Directories in memory, each with its size. Mounted nosuid and nodev.";
    SandboxMounts "sandbox.mounts", Some("--mount"), Files,
        Form::Mounts, Fewer, Value::Mounts(Vec::new()),
        "Host paths to show inside, read-only unless `readonly: false`. A source must lie in the policy's \
         root, allowed paths or exceptions.";
    SandboxBlocked "sandbox.blocked", None, Files,
        Form::Texts(Texts::Blocked), More, Value::Texts(vec![".env".into(), ".env.*".into()]),
        "Patterns of workspace paths that are hidden inside: a directory becomes empty, a file empty and \
         read-only. `.env.*` leaves templates in sight (`.env.example`, `.env.sample`, `.env.template`, \
         `.env.dist`).";
    SandboxEnv "sandbox.env", Some("--env"), Files,
        Form::Env, Kept, Value::Env([].into()),
        "Variables of the program, written out. A flag may add names to it; nothing but the host file \
         changes a name that the host file sets.";
    SandboxEnvPassthrough "sandbox.env_passthrough", Some("--pass-env"), Files,
        Form::EnvNames, Fewer, Value::EnvNames(Vec::new()),
        "Host variables that the program sees. Their values are never recorded.";
    SandboxReceipt "sandbox.receipt", Some("--receipt"), Files,
        Form::Proof, Ordered, Value::Proof(Proof::Quick),
        "What of the forbidden the sandbox's first process tries before the command, for the receipt: `quick` a \
         few things that cost next to nothing, `full` all that it knows, `paranoid` the same once more when the command \
         has ended. One that succeeds stops the run.";
    SandboxSeccomp "sandbox.seccomp", None, Files,
        Form::Seccomp, Pinned, Value::Seccomp(Seccomp::Default),
        "System-call filter: `default`, or the path of a profile for a container engine.";
    SandboxRuntime "sandbox.runtime", Some("--runtime"), Files,
        Form::Runtime, Pinned, Value::Runtime(None),
        "Container runtime, such as crun, runsc or kata, where the engine has it. `null` is the engine's own.";
    SandboxOutputLimit "sandbox.output_limit", None, Files,
        Form::Size { min: ByteSize(64 * ByteSize::KIB), max: Some(ByteSize::mib(4096)) }, Smaller,
        Value::Size(ByteSize::mib(64)),
        "Bytes kept of each output stream: its head and its tail. The true total is always counted.";
    SandboxDiskReserve "sandbox.disk_reserve", None, Files,
        Form::Size { min: ByteSize(0), max: None }, Larger, Value::Size(ByteSize::mib(512)),
        "Bytes that are to stay free on the disk of the state directory, where a run's writes are kept: it is stopped \
         when it is seen that less is free, and not begun where less is. Of a small disk, a twentieth; and of its \
         inodes a hundredth. It is no quota: what is written between two looks, a millisecond of it or a whole file \
         that one call allocates, is written. `0` sets no bound.";
    SandboxRelax "sandbox.relax", Some("--relax"), HostFile,
        Form::Relax, Fewer, Value::Relax([].into()),
        "Guarantees that a run may do without where the host cannot give them. They show in the receipt.";
    ImagesDockerfile "images.dockerfile", None, Files,
        Form::Path, Free, Value::Path(crate::project::dockerfile::NAME.into()),
        "The project's Dockerfile, below the workspace. It is built only as it was approved.";
    ImagesAutoBuild "images.auto_build", None, Files,
        Form::Switch, FalseIsStricter, Value::Switch(false),
        "Whether a run builds the project's image where its files have changed since. `false` uses the one that \
         was built last.";
    ImagesNetwork "images.network", None, Files,
        Form::Network, Ordered, Value::Network(Network::None),
        "What the instructions of a build can reach. `allow` is not for builds.";
    ImagesTimeout "images.timeout", None, Files,
        Form::Span { min: Span::secs(1), max: DAY }, Smaller, Value::Span(Span::secs(1800)),
        "How long a build may take.";
    ImagesGate "images.gate", None, Files,
        Form::Threshold, Ordered, Value::Threshold(Threshold::Off),
        "From which severity on a finding of `cofferdam image scan` keeps the project's image from being used. \
         An image that was not scanned is not used either.";
    ChangesAuto "changes.auto", None, Files,
        Form::Texts(Texts::Globs), Fewer, Value::Texts(Vec::new()),
        "Patterns of paths whose changes `run --apply` applies without being asked about. A change in a \
         handoff class still needs its yes.";
    ChangesDeny "changes.deny", None, Files,
        Form::Texts(Texts::Globs), More, Value::Texts(Vec::new()),
        "Patterns of paths whose changes are never applied. No flag takes that back.";
    ChangesAllowClasses "changes.allow_classes", None, Files,
        Form::Texts(Texts::Classes), Fewer, Value::Texts(Vec::new()),
        "Handoff classes, of files that are executed later, such as CI jobs and hooks, whose changes need no \
         yes of their own. `docs/handoff-classes.md` lists them.";
    ChangesBudgetFiles "changes.budget.files", None, Files,
        Form::Count { min: 1, max: u32::MAX }, Smaller, Value::Count(2000),
        "Most changed paths, directories included, that are applied without a further yes.";
    ChangesBudgetBytes "changes.budget.bytes", None, Files,
        Form::Size { min: ByteSize(1), max: None }, Smaller, Value::Size(ByteSize::mib(256)),
        "Most bytes of new content that are applied without a further yes.";
    ChangesBudgetDeletions "changes.budget.deletions", None, Files,
        Form::Count { min: 0, max: u32::MAX }, Smaller, Value::Count(200),
        "Most deleted paths that are applied without a further yes.";
    ChangesBudgetShare "changes.budget.share", None, Files,
        Form::Count { min: 1, max: 100 }, Smaller, Value::Count(50),
        "Largest part of what was in the tree, in percent, whose change or deletion is applied without a \
         further yes. Git's own directory is not counted, and fewer than 20 paths are never too many.";
    Steps "steps", None, Files,
        Form::Steps, Named, Value::Steps([].into()),
        "Commands with names, for `cofferdam step NAME`. Beside `command` and `workdir`, a step may have any key of \
         `sandbox` that a project file may set; it counts as if the file had set it, for that step alone.";
    McpApply "mcp.apply", None, Owner,
        Form::Switch, FalseIsStricter, Value::Switch(false),
        "Whether agents get a tool that applies what `changes.auto` says needs no look. The rest still waits for \
         a person.";
    PolicyRoot "policy.root", None, HostFile,
        Form::Path, Pinned, Value::Path(".".into()),
        "Directory under which mount sources may lie. A relative path starts at the workspace.";
    PolicyAllowedPaths "policy.allowed_paths", None, HostFile,
        Form::Paths, Fewer, Value::Paths(Vec::new()),
        "Further directories under which mount sources may lie.";
    PolicyExceptions "policy.exceptions", None, HostFile,
        Form::Exceptions, Fewer, Value::Exceptions(Vec::new()),
        "Single mount sources outside of those, each with the reason. Their use is recorded.";
    PolicyNetwork "policy.network", None, HostFile,
        Form::Network, Ordered, Value::Network(Network::None),
        "The widest network that a run may ask for.";
    PolicyBuildNetwork "policy.build_network", None, HostFile,
        Form::Network, Ordered, Value::Network(Network::Bridge),
        "The widest network that building an image may ask for.";
    PolicyEnv "policy.env", None, HostFile,
        Form::Texts(Texts::EnvPatterns), Fewer, Value::Texts(vec!["*".into()]),
        "Names of host variables that may be passed in; `*` stands for any text. Tasks of a server are given only what \
         the host file names here, and never `COFFERDAM_*`.";
    PolicyRelax "policy.relax", None, HostFile,
        Form::Relax, Fewer, Value::Relax([Relax::Limits, Relax::Landlock].into()),
        "Guarantees that a run may ask to do without.";
    PolicyCommandsBuiltin "policy.commands.builtin", None, Files,
        Form::Switch, TrueIsStricter, Value::Switch(false),
        "Whether the built-in rules for commands hold, such as the one against `curl … | sh`. Inside the sandbox such \
         commands do no harm to the host, so they are let through unless this is set. `cofferdam policy rules` lists \
         them.";
    PolicyCommandsDefault "policy.commands.default", None, Files,
        Form::Verdict, Ordered, Value::Verdict(Verdict::Allow),
        "What holds for a command that no rule speaks of.";
    PolicyCommandsAllow "policy.commands.allow", None, Files,
        Form::Texts(Texts::Commands), Fewer, Value::Texts(Vec::new()),
        "Commands that are let through, where `policy.commands.default` does not. A stricter rule wins.";
    PolicyCommandsReview "policy.commands.review", None, Files,
        Form::Texts(Texts::Commands), More, Value::Texts(Vec::new()),
        "Commands that need a yes: `--reviewed`.";
    PolicyCommandsDeny "policy.commands.deny", None, Files,
        Form::Texts(Texts::Commands), More, Value::Texts(Vec::new()),
        "Commands that are refused. No flag takes that back.";
    PolicyRoles "policy.roles", None, HostFile,
        Form::Roles, Pinned, Value::Roles([].into()),
        "Ceilings by role. A run in a role may ask for no more than its ceiling; what is left out sets \
         no bound.";
    CheckProfile "check.profile", None, Files,
        Form::Profile, Ordered, Value::Profile(Profile::Agent),
        "How `cofferdam check` looks at code. `strategy` denies whatever a rule speaks of and every import that is \
         not on its list, `agent` has each rule at its own level, `off` looks at nothing.";
    CheckRules "check.rules", None, Files,
        Form::Paths, More, Value::Paths(Vec::new()),
        "Files with further rules, in the format of ast-grep.";
    CheckDeny "check.deny", None, Files,
        Form::Texts(Texts::Rules), More, Value::Texts(Vec::new()),
        "Rules whose findings fail the check.";
    CheckWarn "check.warn", None, HostFile,
        Form::Texts(Texts::Rules), Fewer, Value::Texts(Vec::new()),
        "Rules whose findings are told and do not fail the check.";
    CheckOff "check.off", None, HostFile,
        Form::Texts(Texts::Rules), Fewer, Value::Texts(Vec::new()),
        "Rules that are left out.";
    CheckSuppressions "check.suppressions", None, HostFile,
        Form::Switch, FalseIsStricter, Value::Switch(false),
        "Whether a comment `cofferdam: allow RULE` in the code silences that rule there. Whoever writes the code \
         writes the comment.";
}

const DAY: Span = Span::secs(24 * 60 * 60);

impl Key {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// `COFFERDAM_` and the flag's name. A list is comma separated there.
    pub fn variable(self) -> Option<String> {
        let flag = self.flag()?.trim_start_matches('-');
        Some(format!("COFFERDAM_{}", flag.replace('-', "_").to_ascii_uppercase()))
    }

    /// What a value looks like, in words.
    pub fn form_in_words(self) -> String {
        self.form().in_words()
    }

    /// Whether variables and flags add to what stands, where others replace it.
    pub(super) const fn is_list(self) -> bool {
        self.form().is_list()
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
