//! Programs whose purpose is to start another one.

use cofferdam_core::command::{SimpleCommand, Word};

/// What a command would start.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    Nothing,
    /// Another program, with its arguments.
    Command {
        name: &'static str,
        words: Vec<Word>,
    },
    /// A text, in a shell.
    Text {
        name: String,
        text: String,
    },
}

/// A wrapper: which of its options take a word, and how many words of its own come before the command.
struct Wrapper {
    name: &'static str,
    valued: &'static [&'static str],
    own: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], own: usize) -> Wrapper {
    Wrapper { name, valued, own }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-S"], 0),
    wrapper(
        "sudo",
        &["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D", "-R", "-T", "-U"],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("nohup", &[], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("chrt", &["-T", "-P", "-D"], 1),
    wrapper("taskset", &[], 1),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("setsid", &[], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper(
        "xargs",
        &[
            "-a",
            "-d",
            "-E",
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--replace",
        ],
        0,
    ),
    wrapper("parallel", &["-j", "--jobs"], 0),
    wrapper("strace", &["-e", "-o", "-p", "-s"], 0),
    wrapper("ltrace", &["-e", "-o", "-p"], 0),
    wrapper("watch", &["-n", "--interval"], 0),
    wrapper("flock", &["-w", "-E"], 1),
    wrapper("chroot", &["--userspec", "--groups"], 1),
    wrapper("unshare", &[], 0),
    wrapper("nsenter", &["-t", "--target"], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("proxychains", &["-f"], 0),
    wrapper("caffeinate", &[], 0),
    wrapper("cofferdam", &[], 0),
];
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "su", "script", "runuser"];

pub(super) fn unfold(command: &SimpleCommand) -> Inner {
    let Some(program) = command.program() else { return Inner::Nothing };
    let arguments = command.arguments();
    if let Some(found) = WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
        return wrapped(found, arguments);
    }
    match program {
        _ if SHELLS.contains(&program) => shell(program, arguments),
        "eval" => match arguments.iter().all(|word| word.is_known) && !arguments.is_empty() {
            true => Inner::Text { name: "eval".to_owned(), text: joined(arguments) },
            false => Inner::Nothing,
        },
        "find" | "fd" => found_and_run(arguments),
        "trap" => match arguments.first() {
            Some(word) if word.is_known && !word.text.starts_with('-') => {
                Inner::Text { name: "trap".to_owned(), text: word.text.clone() }
            }
            _ => Inner::Nothing,
        },
        _ => Inner::Nothing,
    }
}

fn wrapped(wrapper: &Wrapper, arguments: &[Word]) -> Inner {
    let mut left = arguments.iter();
    let mut own = wrapper.own;
    let mut rest = left.as_slice();
    while let Some(word) = left.next() {
        let text = word.text.as_str();
        if text == "--" {
            rest = left.as_slice();
            if own == 0 {
                break;
            }
            continue;
        }
        // `env -S 'a b'` has the command in one word.
        if wrapper.name == "env" && (text == "-S" || text == "--split-string") {
            return match left.next() {
                Some(word) if word.is_known => {
                    Inner::Text { name: "env -S".to_owned(), text: word.text.clone() }
                }
                _ => Inner::Nothing,
            };
        }
        if wrapper.valued.contains(&text) {
            left.next();
        } else if text.starts_with('-') && text.len() > 1 {
            // An option without a word of its own, or with it attached.
        } else if wrapper.name == "env"
            && text.split_once('=').is_some_and(|(name, _)| !name.is_empty())
        {
            // A variable.
        } else if own > 0 {
            own -= 1;
        } else {
            rest = &arguments[arguments.len() - left.len() - 1..];
            break;
        }
        rest = left.as_slice();
    }
    if rest.is_empty() {
        return Inner::Nothing;
    }
    // Some take a whole line in one word.
    if let ("watch" | "parallel" | "flock", [only]) = (wrapper.name, rest)
        && only.is_known
        && only.text.contains(' ')
    {
        return Inner::Text { name: wrapper.name.to_owned(), text: only.text.clone() };
    }
    Inner::Command { name: wrapper.name, words: rest.to_vec() }
}

/// The text after `-c`, which may stand together with other letters.
fn shell(program: &str, arguments: &[Word]) -> Inner {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let asks = text
            .strip_prefix('-')
            .is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'));
        if asks || text == "--command" {
            // Further options may stand between `-c` and the text.
            let text =
                words.find(|word| !(word.text.starts_with('-') || word.text.starts_with('+')));
            return match text {
                Some(text) if text.is_known => {
                    Inner::Text { name: format!("{program} -c"), text: text.text.clone() }
                }
                _ => Inner::Nothing,
            };
        }
        if matches!(text, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file") {
            words.next();
        } else if !text.starts_with(['-', '+']) && !matches!(program, "su" | "runuser" | "script") {
            return Inner::Nothing;
        }
    }
    Inner::Nothing
}

fn found_and_run(arguments: &[Word]) -> Inner {
    let runs = |word: &Word| {
        matches!(
            word.text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"
        )
    };
    let Some(at) = arguments.iter().position(runs) else { return Inner::Nothing };
    let words: Vec<Word> = arguments[at + 1..]
        .iter()
        .take_while(|word| !matches!(word.text.as_str(), ";" | "+"))
        .cloned()
        .collect();
    match words.is_empty() {
        true => Inner::Nothing,
        false => Inner::Command { name: "find -exec", words },
    }
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
