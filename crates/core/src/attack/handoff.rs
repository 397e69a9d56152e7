//! B: files that somebody executes later.

use super::{Attack, EVERYWHERE, Group, Step, Way, steps};

const G: Group = Group::Handoff;

const fn planted(id: &'static str, path: &'static str, class: &'static str) -> Attack {
    Attack {
        id,
        group: G,
        tried: path,
        holds: "it is named with its class, and comes home only with its own yes",
        way: Way::Planted { path, class },
        on: EVERYWHERE,
        known: None,
    }
}

/// Every setting by which git executes something.
const TRAPS: &str = "git init -q . 2>/dev/null; git config user.email a@b; git config user.name n; \
    for s in core.fsmonitor core.sshCommand core.pager core.editor core.askPass diff.external diff.x.textconv \
    diff.x.command filter.x.clean filter.x.smudge filter.x.process merge.x.driver credential.helper \
    gpg.program alias.status alias.diff sequence.editor remote.origin.uploadpack interactive.diffFilter \
    pager.diff; do git config $s '!touch {outside}/ran; touch {outside}/ran'; done; \
    printf '[core]\\n\\thooksPath = /workspace/hooks\\n' > evil; git config include.path /workspace/evil; \
    mkdir hooks; printf '#!/bin/sh\\ntouch {outside}/ran\\n' > hooks/pre-commit; chmod +x hooks/pre-commit; \
    echo '* filter=x diff=x merge=x' > .gitattributes; echo 2 > tracked";

const NEVER_RUN: Step = Step::Sees("test ! -e {outside}/ran");

pub(super) const ATTACKS: &[Attack] = &[
    planted("B-hook-pre-commit", ".git/hooks/pre-commit", "git-internals"),
    planted("B-hook-post-checkout", ".git/hooks/post-checkout", "git-internals"),
    planted("B-git-config", ".git/config", "git-internals"),
    planted("B-git-config-worktree", ".git/config.worktree", "git-internals"),
    planted("B-git-info-attributes", ".git/info/attributes", "git-internals"),
    planted("B-git-module-config", ".git/modules/lib/config", "git-internals"),
    planted("B-git-module-hook", ".git/modules/lib/hooks/post-merge", "git-internals"),
    planted("B-nested-repository", "vendor/sub/.git/config", "git-internals"),
    planted("B-git-file", "elsewhere/.git", "git-internals"),
    planted("B-git-capitals", ".GIT/config", "git-internals"),
    planted("B-git-short-name", "GIT~1/config", "git-internals"),
    planted("B-git-ignored-letter", "x/.g\u{200c}it/hooks/update", "git-internals"),
    planted("B-gitmodules", ".gitmodules", "git-attributes"),
    planted("B-gitattributes", "a/.gitattributes", "git-attributes"),
    planted("B-workflow", ".github/workflows/ci.yml", "ci"),
    planted("B-gitlab", ".gitlab-ci.yml", "ci"),
    planted("B-jenkins", "Jenkinsfile", "ci"),
    planted("B-pre-commit", ".pre-commit-config.yaml", "commit-hooks"),
    planted("B-husky", ".husky/pre-commit", "commit-hooks"),
    planted("B-lefthook", "lefthook.yml", "commit-hooks"),
    planted("B-editor-tasks", ".vscode/tasks.json", "editor"),
    planted("B-editor-launch", ".vscode/launch.json", "editor"),
    planted("B-editor-settings", ".vscode/settings.json", "editor"),
    planted("B-idea", ".idea/workspace.xml", "editor"),
    planted("B-code-workspace", "a.code-workspace", "editor"),
    planted("B-devcontainer", ".devcontainer/devcontainer.json", "editor"),
    planted("B-envrc", ".envrc", "shell-env"),
    planted("B-tool-versions", ".tool-versions", "shell-env"),
    planted("B-mise", "mise.toml", "shell-env"),
    planted("B-makefile", "Makefile", "build-scripts"),
    planted("B-dockerfile", "Dockerfile", "build-scripts"),
    planted("B-build-rs", "build.rs", "build-scripts"),
    planted("B-cargo-config", ".cargo/config.toml", "build-scripts"),
    planted("B-rust-toolchain", "rust-toolchain.toml", "build-scripts"),
    planted("B-gradle-wrapper", "gradle/wrapper/gradle-wrapper.jar", "build-scripts"),
    planted("B-maven", ".mvn/extensions.xml", "build-scripts"),
    planted("B-package-json", "package.json", "package-scripts"),
    planted("B-npmrc", ".npmrc", "package-scripts"),
    planted("B-yarnrc", ".yarnrc.yml", "package-scripts"),
    planted("B-pip-conf", "pip.conf", "package-scripts"),
    planted("B-pyproject", "pyproject.toml", "package-scripts"),
    planted("B-setup-py", "setup.py", "package-scripts"),
    planted("B-sitecustomize", "sitecustomize.py", "interpreter-startup"),
    planted("B-pth", "lib/evil.pth", "interpreter-startup"),
    planted("B-conftest", "tests/conftest.py", "interpreter-startup"),
    planted("B-claude", ".claude/settings.json", "agent-settings"),
    planted("B-codex", ".codex/config.toml", "agent-settings"),
    planted("B-gemini", ".gemini/settings.json", "agent-settings"),
    planted("B-cursor", ".cursor/mcp.json", "agent-settings"),
    planted("B-mcp-json", ".mcp.json", "agent-settings"),
    planted("B-agents-md", "AGENTS.md", "agent-settings"),
    planted("B-claude-md", "CLAUDE.md", "agent-settings"),
    planted("B-own-settings", "cofferdam.yaml", "cofferdam-config"),
    planted("B-authorized-keys", ".ssh/authorized_keys", "shell-env"),
    planted("B-local-bin", ".local/bin/ls", "shell-env"),
    steps(
        "B-executable",
        G,
        "a new program among the changes",
        "it needs its own yes",
        &[
            Step::Stage("printf '#!/bin/sh\\n' > tool; chmod +x tool; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Says("executable"),
            Step::Twin(&[Step::Ours(&["apply", "last", "fine"], &[0]), Step::Sees("test -e fine")]),
        ],
    ),
    steps(
        "B-class-of-another",
        G,
        "come home with the yes to another class",
        "a yes to one class is a yes to no other",
        &[
            Step::Stage(
                "mkdir -p .github/workflows .vscode; echo x > .github/workflows/a.yml; \
                         echo {} > .vscode/tasks.json",
            ),
            Step::Ours(&["apply", "--allow-class", "ci"], &[3]),
            Step::Unchanged,
            Step::Twin(&[
                Step::Ours(&["apply", "--allow-class", "ci", "last", ".github"], &[0]),
                Step::Sees("test -e .github/workflows/a.yml"),
            ]),
        ],
    ),
    steps(
        "B-denied-for-good",
        G,
        "come home past changes.deny",
        "no flag takes a deny back",
        &[
            Step::Settings("changes: { deny: [\".vscode/\"] }"),
            Step::Stage("mkdir .vscode; echo {} > .vscode/tasks.json; echo f > fine"),
            Step::Ours(&["apply", "--allow-class", "editor", "--allow-path", ".vscode"], &[3]),
            Step::Unchanged,
            Step::Twin(&[Step::Ours(&["apply", "--rest"], &[0]), Step::Sees("test -e fine")]),
        ],
    ),
    steps(
        "B-git-settings",
        G,
        "have git of the host obey what the program wrote",
        "nothing of it is executed by any command of ours",
        &[
            Step::Host(
                "git init -q . && echo 1 > tracked && git add . && \
                        git -c user.email=a@b -c user.name=n commit -qm first",
            ),
            Step::Stage(TRAPS),
            Step::Ours(&["diff"], &[0]),
            NEVER_RUN,
            Step::Ours(&["diff", "--patch"], &[0]),
            NEVER_RUN,
            Step::Ours(&["diff", "--log"], &[0, 1]),
            NEVER_RUN,
            Step::Ours(&["apply", "--check"], &[0, 3]),
            NEVER_RUN,
            Step::Ours(&["apply", "--branch", "agent"], &[0, 1, 3]),
            NEVER_RUN,
            Step::Ours(&["apply"], &[3]),
            NEVER_RUN,
            Step::Twin(&[
                // What was planted would be obeyed by a git that asks it.
                Step::Host(
                    "git -c core.fsmonitor='touch {outside}/ran; true' status >/dev/null 2>&1; \
                            test -e {outside}/ran && rm {outside}/ran",
                ),
            ]),
        ],
    ),
    steps(
        "B-git-elsewhere",
        G,
        "a .git that leads to a repository outside",
        "it is held as git's own, and nothing outside changes",
        &[
            Step::Stage(
                "echo 'gitdir: {outside}' > .git; ln -s /etc/passwd .gitmodules; echo f > fine",
            ),
            Step::Ours(&["diff"], &[0]),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Twin(&[Step::Ours(&["apply", "last", "fine"], &[0]), Step::Sees("test -e fine")]),
        ],
    ),
    steps(
        "B-loosen-next-run",
        G,
        "loosen the next run by a project file that was applied",
        "what nobody trusted loosens nothing",
        &[
            Step::Stage(
                "echo 'sandbox: {mode: direct, network: host, blocked: []}' > cofferdam.yaml",
            ),
            Step::Ours(&["apply", "--allow-class", "cofferdam-config"], &[0]),
            Step::Host("echo TOKEN > .env"),
            Step::Run(&[], "test ! -s .env && echo x > written", &[0, 125]),
            Step::Sees("test ! -e written"),
            Step::Twin(&[Step::Sees("grep -q direct cofferdam.yaml")]),
        ],
    ),
    steps(
        "B-poisoned-cache",
        G,
        "leave something in caches for the next run",
        "nothing outside the workspace is there next time",
        &[
            Step::Stage(
                "for d in ~/.cache/pip ~/.npm ~/.cargo /tmp/shared /dev/shm/shared; do \
                         mkdir -p $d; echo poisoned > $d/wheel; done",
            ),
            Step::Run(&[], "! find ~ /tmp /dev/shm -name wheel | grep -q wheel", &[0]),
            Step::Sees("! find {home} -name wheel | grep -q wheel"),
            Step::Twin(&[Step::Run(
                &[],
                "mkdir -p ~/.cache && echo x > ~/.cache/wheel && \
                                         find ~ -name wheel | grep -q wheel",
                &[0],
            )]),
        ],
    ),
    steps(
        "B-dockerfile-built",
        G,
        "have a Dockerfile built that the program wrote",
        "it is built only after its own yes",
        &[
            Step::Stage("printf 'FROM scratch\\nRUN touch /x\\n' > Dockerfile; echo f > fine"),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Twin(&[Step::Ours(&["apply", "last", "fine"], &[0]), Step::Sees("test -e fine")]),
        ],
    ),
];
