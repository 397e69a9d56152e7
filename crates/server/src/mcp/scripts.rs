//! Files of the workspace, read and written inside the sandbox, by its own programs.
//!
//! Paths are arguments, never part of a script. Each script first finds out where a path really leads, and
//! refuses one that leaves the workspace.

use cofferdam_core::command::Approval;
use cofferdam_core::paths::Arg;
use cofferdam_core::plan::ExecSpec;

use super::run::Done;

/// Bytes of a file that are read, at most.
pub(super) const LARGEST: usize = 8 << 20;

/// Says where `$1` leads as `$p`; 40 where that is not in the workspace. `-m` lets parts of it be missing.
macro_rules! inside {
    ($script:literal) => {
        concat!(
            "p=$(realpath -m -- \"$1\") || exit 41; ",
            "case $p in /workspace|/workspace/*) ;; *) exit 40;; esac; ",
            $script
        )
    };
}

fn script(text: &str, args: &[&str]) -> ExecSpec {
    let head = ["sh", "-c", text, "sh"];
    let words = head.iter().chain(args);
    let command = words.map(|word| Arg((*word).into())).collect();
    let approval = Approval::Own;
    ExecSpec { command, workdir: Some("/workspace".into()), approval, ..ExecSpec::default() }
}

pub(super) fn read(path: &str) -> ExecSpec {
    let text =
        inside!("[ -e \"$p\" ] || exit 42; [ -f \"$p\" ] || exit 43; head -c \"$2\" -- \"$p\"");
    script(text, &[path, &LARGEST.to_string()])
}

/// The content is its input. It is written beside the file and then put in its place, with the mode that the
/// file had.
pub(super) fn write(path: &str) -> ExecSpec {
    let text = inside!(
        "[ -d \"$p\" ] && exit 43; mkdir -p -- \"${p%/*}\" || exit 44; \
         t=$p.new.$$; cat > \"$t\" || exit 44; \
         [ -e \"$p\" ] && chmod --reference=\"$p\" -- \"$t\"; mv -- \"$t\" \"$p\" || exit 44"
    );
    script(text, &[path])
}

pub(super) fn list(path: &str, depth: u32) -> ExecSpec {
    let text = inside!(
        "[ -d \"$p\" ] || exit 45; cd -- \"$p\" || exit 45; \
         find . -mindepth 1 -maxdepth \"$2\" -name .git -prune -o -printf '%y\\t%s\\t%P\\n' | sort -k3 | head -n 2000"
    );
    script(text, &[path, &depth.to_string()])
}

pub(super) fn search(pattern: &str, path: &str) -> ExecSpec {
    let text = inside!(
        "[ -e \"$p\" ] || exit 42; \
         grep -rnIE --exclude-dir=.git -e \"$2\" -- \".${p#/workspace}\" | head -n 500"
    );
    script(text, &[path, pattern])
}

/// Why a script would not.
pub(super) fn refusal(done: &Done, path: &str) -> Option<String> {
    let why = match done.exit_code() {
        Some(0) => return None,
        Some(40) => "leads out of the workspace",
        Some(41) => "is no path",
        Some(42) => "does not exist",
        Some(43) => "is not a regular file",
        Some(44) => "cannot be written",
        Some(45) => "is not a directory",
        _ => {
            let said = String::from_utf8_lossy(&done.stderr.head);
            let outcome = done.job.outcome.as_ref().and_then(|o| o.message.clone());
            return Some(format!("{path}: {} {}", outcome.unwrap_or_default(), said.trim()));
        }
    };
    Some(format!("{path} {why}"))
}
