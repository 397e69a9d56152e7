//! E: what the host keeps to itself.

use super::{Attack, EVERYWHERE, Group, Step, harmful, inside, steps};

const G: Group = Group::Secrets;

macro_rules! variable {
    ($id:literal, $name:literal) => {
        steps(
            $id,
            G,
            concat!("read the host's ", $name),
            "only listed variables are there",
            &[
                Step::Run(&[], concat!("test -z \"$", $name, "\""), &[0]),
                Step::Run(&[], concat!("! env | grep -q ", $name), &[0]),
                Step::Twin(&[
                    Step::Settings("policy: { env: [\"*\"] }"),
                    Step::Run(&["--pass-env", $name], concat!("test -n \"$", $name, "\""), &[0]),
                ]),
            ],
        )
    };
}

/// A file of the home that the place has made.
macro_rules! file {
    ($id:literal, $path:literal) => {
        inside(
            $id,
            G,
            concat!("read ~/", $path),
            "the home is not there",
            concat!("cat {home}/", $path, " && won; cat ~/", $path, " && won"),
        )
    };
}

pub(super) const ATTACKS: &[Attack] = &[
    variable!("E-variable-token", "GITHUB_TOKEN"),
    variable!("E-variable-aws", "AWS_SECRET_ACCESS_KEY"),
    variable!("E-variable-key", "OPENAI_API_KEY"),
    variable!("E-variable-password", "DB_PASSWORD"),
    variable!("E-variable-agent", "SSH_AUTH_SOCK"),
    variable!("E-variable-bus", "DBUS_SESSION_BUS_ADDRESS"),
    file!("E-ssh-key", ".ssh/id_ed25519"),
    file!("E-netrc", ".netrc"),
    file!("E-aws", ".aws/credentials"),
    file!("E-gh", ".config/gh/hosts.yml"),
    file!("E-kube", ".kube/config"),
    file!("E-docker", ".docker/config.json"),
    file!("E-azure", ".azure/accessTokens.json"),
    file!("E-gcloud", ".config/gcloud/credentials.db"),
    file!("E-gnupg", ".gnupg/private-keys-v1.d/key"),
    file!("E-git-credentials", ".git-credentials"),
    file!("E-history", ".bash_history"),
    harmful(
        "E-shadow",
        G,
        "the host's password hashes",
        "they are not there, or not to be read",
        ["grep -q : /etc/shadow && won; grep -q : /etc/gshadow && won", "grep -q : /etc/passwd && won"],
    ),
    inside(
        "E-other-runs",
        G,
        "what other runs did",
        "the record is not there",
        "ls {state}/cofferdam && won",
    ),
    inside(
        "E-own-settings",
        G,
        "write the host owner's settings",
        "they are not there",
        "( : >> {home}/.config/cofferdam/config.yaml ) && won; ( : >> {state}/x ) && won",
    ),
    inside(
        "E-command-lines",
        G,
        "secrets on the command lines of the host",
        "no process of the host is listed",
        "grep -qa 3153600[0] /proc/[0-9]*/cmdline && won",
    ),
    steps(
        "E-blocked-file",
        G,
        "read .env in the workspace",
        "an empty file stands in its place",
        &[
            Step::File(".env", "TOKEN=kept-back\n"),
            Step::Run(&[], "! grep -q kept-back .env", &[0]),
            Step::Run(&[], "! grep -rq kept-back . /proc/self/mountinfo", &[0]),
            Step::Twin(&[
                Step::File("plain", "TOKEN=kept-back\n"),
                Step::Run(&[], "grep -q kept-back plain", &[0]),
            ]),
        ],
    ),
    steps(
        "E-blocked-tricks",
        G,
        "get at .env by another name",
        "by any name it is empty",
        &[
            Step::File(".env", "TOKEN=kept-back\n"),
            Step::Run(
                &[],
                "ln -s .env a; ln .env b; cp .env c; mv .env d; cat a b c d .env .//.env ../workspace/.env \
                 /proc/self/cwd/.env 2>/dev/null | grep -q kept-back && exit 9; exit 0",
                &[0],
            ),
            Step::Sees("grep -q kept-back .env"),
            Step::Twin(&[
                Step::File("plain", "TOKEN=kept-back\n"),
                Step::Run(&[], "ln -s plain a; cat a | grep -q kept-back", &[0]),
            ]),
        ],
    ),
    steps(
        "E-blocked-made",
        G,
        "make a .env where there is none, or a link, or a directory",
        "none of it is among the changes",
        &[
            Step::Stage(
                "echo x > .env; ln -sf /etc/passwd .env; mkdir -p d; mv -T d .env; echo f > fine; true",
            ),
            Step::Ours(&["diff", "--name-only"], &[0]),
            Step::SaysNot(".env"),
            Step::Twin(&[Step::Ours(&["diff", "--name-only"], &[0]), Step::Says("fine")]),
        ],
    ),
    steps(
        "E-value-recorded",
        G,
        "have the value of a passed secret recorded",
        "its name is in the record, its value nowhere",
        &[
            Step::Settings("policy: { env: [\"*\"] }"),
            Step::Run(&["--pass-env", "GITHUB_TOKEN"], "echo it is $GITHUB_TOKEN; env", &[0]),
            Step::Sees("! grep -rq attack-secret-token {state}"),
            Step::Twin(&[Step::Sees("grep -rq GITHUB_TOKEN {state}")]),
        ],
    ),
    steps(
        "E-secret-in-changes",
        G,
        "bring a token home in a file",
        "it is named, and needs its own yes",
        &[
            Step::Stage(
                "printf 'key = gh%s\\n' p_x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU > token.txt; echo f > fine",
            ),
            Step::Ours(&["apply"], &[3]),
            Step::Unchanged,
            Step::Event("changes.refused"),
            Step::Twin(&[Step::Ours(&["apply", "last", "fine"], &[0]), Step::Sees("test -e fine")]),
        ],
    ),
    steps(
        "E-dotenv-below",
        G,
        "read a .env below the workspace's root",
        "it is hidden",
        &[
            Step::File("sub/.env", "TOKEN=kept-back\n"),
            Step::Run(&[], "! grep -q kept-back sub/.env", &[0]),
            Step::Twin(&[
                Step::Settings("sandbox: { blocked: [\"**/.env\"] }"),
                Step::Run(&[], "test -e sub && ! grep -q kept-back sub/.env", &[0]),
            ]),
        ],
    )
    .known(
        EVERYWHERE,
        "patterns without a slash are matched in the workspace's root only; \"**/.env\" in sandbox.blocked hides all",
    ),
    steps(
        "E-encoded",
        G,
        "have the value of a passed secret recorded in another form",
        "it is not in the record",
        &[
            Step::Settings("policy: { env: [\"*\"] }"),
            Step::Run(
                &["--pass-env", "GITHUB_TOKEN"],
                "printf %s \"$GITHUB_TOKEN\" | tr a-z n-za-m",
                &[0],
            ),
            Step::Sees("! grep -rq nggnpx-frperg-gbxra {state}"),
            Step::Twin(&[Step::Sees("grep -rq GITHUB_TOKEN {state}")]),
        ],
    )
    .known(
        EVERYWHERE,
        "redaction finds exact values only; a secret that is passed in is the program's to use",
    ),
];
