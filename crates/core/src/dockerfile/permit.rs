//! What a build does not do, whoever approved the file: read the host, fetch what policy does not let it, or be
//! carried out by a program that somebody else's registry has.

use super::{Dockerfile, is_remote};
use crate::spec::Network;

const KNOWN: &[&str] = &[
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// Something that keeps a file from being built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Objection {
    pub line: usize,
    pub what: String,
}

pub fn objections(file: &Dockerfile, network: Network) -> Vec<Objection> {
    let mut found = Vec::new();
    let mut object =
        |line: usize, what: &str| found.push(Objection { line, what: what.to_owned() });
    if file.directives.contains_key("syntax") {
        object(1, "`# syntax=` would have another program read the file");
    }
    if file.directives.get("escape").is_some_and(|sign| sign != "\\") {
        object(1, "`# escape=` would have lines end otherwise than they seem to");
    }
    if file.instructions.is_empty() {
        object(1, "there is no instruction");
    }
    for instruction in &file.instructions {
        let (line, keyword) = (instruction.line, instruction.keyword.as_str());
        let triggered = instruction.rest.split_whitespace().next().unwrap_or_default();
        let keyword = if keyword == "ONBUILD" { triggered } else { keyword };
        if !KNOWN.contains(&keyword.to_ascii_uppercase().as_str()) {
            object(line, "an instruction that is not known");
        }
        if instruction.rest.contains("<<")
            && matches!(keyword, "RUN" | "COPY" | "ADD")
            && is_heredoc(&instruction.rest)
        {
            object(line, "a here-document, whose lines cannot be told from instructions");
        }
        for (name, value) in &instruction.flags {
            match (keyword, name.as_str()) {
                ("RUN", "mount") if is_harmless_mount(value) => {}
                ("RUN", "mount") => object(line, "a mount that is neither a cache nor memory"),
                ("FROM", "platform")
                    if !matches!(value.as_str(), "$BUILDPLATFORM" | "$TARGETPLATFORM") =>
                {
                    object(line, "another platform, whose image may have to be fetched");
                }
                ("RUN", "network" | "security" | "device") => {
                    object(
                        line,
                        "what an instruction may reach is for settings to say (images.network)",
                    );
                }
                _ => {}
            }
        }
        let fetches = keyword == "ADD" && instruction.words().iter().any(|word| is_remote(word));
        if fetches && network == Network::None {
            object(line, "ADD would fetch something, and the build has no network");
        }
    }
    found
}

fn is_harmless_mount(value: &str) -> bool {
    let pairs: Vec<_> =
        value.split(',').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    let kind = pairs.iter().find(|(name, _)| *name == "type").map(|(_, kind)| *kind);
    matches!(kind, Some("cache" | "tmpfs"))
        && !pairs.iter().any(|(name, _)| matches!(*name, "from" | "source" | "src"))
}

/// `<<EOF`, `<<-"EOF"`: a word right after it, and not `<<<`.
fn is_heredoc(rest: &str) -> bool {
    rest.match_indices("<<").any(|(at, _)| {
        let after = rest[at + 2..].trim_start_matches('-').trim_start_matches(['"', '\'']);
        after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, network: Network) -> bool {
        !objections(&Dockerfile::parse(text), network).is_empty()
    }

    #[test]
    fn what_reaches_out_is_not_built() {
        for bad in [
            "# syntax=evil/frontend:1\nFROM a\n",
            "FROM a\nRUN --mount=type=bind,source=/,target=/h id\n",
            "FROM a\nRUN --mount=target=/h id\n",
            "FROM a\nRUN --mount=type=secret,id=x id\n",
            "FROM a\nRUN --mount=type=ssh id\n",
            "FROM a\nRUN --mount=type=cache,from=b,target=/c id\n",
            "FROM a\nRUN --network=host id\n",
            "FROM a\nRUN --security=insecure id\n",
            "FROM a\nADD https://example.com/x /x\n",
            "FROM a\nINCLUDE x\n",
            "#!/bin/x\n# comment\n# syntax = evil/frontend:1\nFROM a\n",
            "// syntax=evil\nFROM a\n",
            "# escape=`\nFROM a\n",
            "FROM --platform=linux/riscv64 a\n",
            "FROM a\nRUN <<EOF\nRUN x\nEOF\n",
            "",
        ] {
            assert!(refused(bad, Network::None), "{bad:?}");
        }
        for good in [
            "FROM a\nRUN --mount=type=cache,target=/c,sharing=locked make\n",
            "FROM a\nRUN --mount=type=tmpfs,target=/t make\nONBUILD RUN x\n",
            "FROM a\nRUN cat <<<x; echo $((1<<3))\n",
            "FROM a\nADD x.tar /x\n",
        ] {
            assert!(!refused(good, Network::None), "{good:?}");
        }
        assert!(!refused("FROM a\nADD https://example.com/x /x\n", Network::Bridge));
    }
}
