//! Deliberate holes, each in one place, to show that a test notices it: see `cargo xtask mutants`.
//!
//! Without the feature `weaken` nothing can be weakened: [`weakened`] is `false` for the compiler, which removes what
//! hangs on it. With it, and only in a build for developers, one [`Weakness`] can be switched on by whoever reads the
//! environment.

#[cfg(all(feature = "weaken", not(debug_assertions)))]
compile_error!(
    "the feature `weaken` opens holes on purpose: it is for tests, and never for a release"
);

macro_rules! weaknesses {
    ($($kind:ident = $name:literal, $what:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Weakness {
            $(#[doc = $what] $kind),+
        }

        impl Weakness {
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }
        }
    };
}

weaknesses! {
    NoNewPrivileges = "no-new-privileges", "The flag is not set.";
    Capabilities = "capabilities", "Capabilities are kept.";
    BoundingSet = "bounding-set", "The bounding set is kept.";
    Identity = "identity", "The program stays who started it.";
    Filter = "filter", "No system call filter is loaded.";
    Network = "network", "The network namespace is the host's.";
    SystemWritable = "system-writable", "The system is bound writable.";
    SetIdMounts = "set-id-mounts", "Mounts honour set-id bits.";
    Blocked = "blocked", "Blocked paths are not hidden.";
    Descriptors = "descriptors", "The caller's files stay open.";
    Dumpable = "dumpable", "Others look into the first process.";
    Limits = "limits", "The control groups are not entered.";
    CoreLimit = "core-limit", "Core dumps may be allowed again.";
    ReadBack = "read-back", "What is not as planned is passed over.";
    ProcWritable = "proc-writable", "The kernel's settings can be written.";
    Direct = "direct", "A staged workspace is the host's own.";
    ProbeWrite = "probe-write", "A path that the first process tries to write to can be written.";
    ProbeNetwork = "probe-network", "An address that it tries to reach can be.";
    ProbeProcess = "probe-process", "Another process is there when it looks for one.";
    ProbeSocket = "probe-socket", "A socket is where it looks for an engine's.";
    ProbesAfter = "probes-after", "What the command made can be written to when it looks again.";
    LinksFollowed = "links-followed", "Apply follows links.";
    Conflicts = "conflicts", "What changed on the host meanwhile is overwritten.";
    ObjectHash = "object-hash", "A content that is not what was sealed is applied.";
    ManifestHash = "manifest-hash", "A list that is not what was sealed is applied.";
    Specials = "specials", "Pipes and devices are applied.";
    Classes = "classes", "Files that run later need no yes.";
    Denied = "denied", "What is denied is applied.";
    Budget = "budget", "There is no budget.";
    Secrets = "secrets", "Secrets among the changes are not looked for.";
    Opaque = "opaque", "A directory that was made anew keeps what was in it.";
    Redaction = "redaction", "Values of secrets are recorded.";
    Inert = "inert", "Escapes for the terminal are shown as they are.";
    Chain = "chain", "A log whose hashes do not fit is verified.";
    ForbiddenMounts = "forbidden-mounts", "Any path can be mounted.";
    UnknownKeys = "unknown-keys", "Keys that nobody knows are passed over.";
    ProjectLoosens = "project-loosens", "An untrusted project file loosens.";
    Environment = "environment", "Any variable of the host may be passed.";
}

/// Whether this hole is open.
#[inline]
pub fn weakened(weakness: Weakness) -> bool {
    switch::is_on(weakness)
}

#[cfg(feature = "weaken")]
pub use switch::switch_on;

#[cfg(not(feature = "weaken"))]
mod switch {
    #[inline]
    pub(super) const fn is_on(_: super::Weakness) -> bool {
        false
    }
}

#[cfg(feature = "weaken")]
mod switch {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Weakness;

    /// A bit for each in the order of the list. A copy of the process that is to be a sandbox has it, too.
    static ON: AtomicU64 = AtomicU64::new(0);

    pub(super) fn is_on(weakness: Weakness) -> bool {
        ON.load(Ordering::Relaxed) & (1 << weakness as u32) != 0
    }

    /// Opens the holes of these names, with commas between; false where one is no name.
    pub fn switch_on(names: &str) -> bool {
        names.split(',').all(|name| {
            let named = Weakness::ALL.iter().find(|weakness| weakness.name() == name);
            if let Some(weakness) = named {
                ON.fetch_or(1 << *weakness as u32, Ordering::Relaxed);
            }
            named.is_some()
        })
    }
}
