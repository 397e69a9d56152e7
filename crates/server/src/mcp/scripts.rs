//! Files of the workspace, read and written inside the sandbox, by its own programs.
//!
//! Paths are arguments, never part of a script. Each script first finds out where a path really leads, and
//! refuses one that leaves the workspace.
//!
//! They need what GNU's programs have and busybox lacks: `realpath -m`, `find -printf`, `head -z`, `grep -Z`. A name may
//! hold any byte but NUL, so NUL is what parts names from the rest.

use cofferdam_core::command::Approval;
use cofferdam_core::paths::Arg;
use cofferdam_core::plan::ExecSpec;

use super::run::Done;

/// Bytes of a file that is edited, at most.
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

/// Some lines of a file, or from one to the end. On standard error it says how large all of it is: see [`Size`].
pub(super) fn read(path: &str, first: usize, lines: Option<usize>) -> ExecSpec {
    let text = inside!(
        "[ -e \"$p\" ] || exit 42; [ -f \"$p\" ] || exit 43; \
         b=$(wc -c < \"$p\") && l=$(wc -l < \"$p\") && e=$(tail -c 1 -- \"$p\" | wc -l) || exit 1; \
         echo $b $l $e >&2; \
         if [ -n \"$3\" ]; then tail -n +\"$2\" -- \"$p\" | head -n \"$3\"; else tail -n +\"$2\" -- \"$p\"; fi"
    );
    let lines = lines.map(|lines| lines.to_string()).unwrap_or_default();
    script(text, &[path, &first.to_string(), &lines])
}

/// How large a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

impl Size {
    /// As [`read`] says it: bytes, ends of lines, and whether the last byte is one.
    pub(super) fn said(exact: &[u8]) -> Option<Self> {
        let text = str::from_utf8(exact).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (bytes, ends, last) = (next()?, next()?, next()?);
        let lines = ends + u64::from(bytes > 0 && last == 0);
        Some(Self { bytes, lines })
    }
}

/// All of a file that is not larger than [`LARGEST`]; of another, more than that.
pub(super) fn whole(path: &str) -> ExecSpec {
    let text =
        inside!("[ -e \"$p\" ] || exit 42; [ -f \"$p\" ] || exit 43; head -c \"$2\" -- \"$p\"");
    script(text, &[path, &(LARGEST + 1).to_string()])
}

/// The content is its input, so many bytes. It is written beside the file and then put in its place, with the mode that
/// the file had; where not all of it comes, it is not.
pub(super) fn write(path: &str, bytes: usize) -> ExecSpec {
    let text = inside!(
        "[ -d \"$p\" ] && exit 43; mkdir -p -- \"${p%/*}\" || exit 44; \
         t=$p.new.$$; cat > \"$t\" && [ \"$(wc -c < \"$t\")\" -eq \"$2\" ] || { rm -f -- \"$t\"; exit 44; }; \
         [ -e \"$p\" ] && chmod --reference=\"$p\" -- \"$t\"; mv -- \"$t\" \"$p\" || exit 44"
    );
    script(text, &[path, &bytes.to_string()])
}

/// Entries, a NUL behind each: kind, size and name, with tabs between.
pub(super) fn list(path: &str, depth: u32) -> ExecSpec {
    let text = inside!(
        "[ -d \"$p\" ] || exit 45; cd -- \"$p\" || exit 45; \
         find . -mindepth 1 -maxdepth \"$2\" -name .git -prune -o -printf '%y\\t%s\\t%P\\0' | \
         sort -z -k3 | head -z -n 2000"
    );
    script(text, &[path, &depth.to_string()])
}

/// Lines that were found: the name of the file, a NUL, the number, a colon, the line.
pub(super) fn search(pattern: &str, path: &str) -> ExecSpec {
    let text = inside!(
        "[ -e \"$p\" ] || exit 42; \
         grep -rnHIEZ --exclude-dir=.git -e \"$2\" -- \".${p#/workspace}\" | head -n 500"
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
