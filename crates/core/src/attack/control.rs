//! G: the record, the rules and whoever serves agents.

use super::{Attack, Group, Step, steps};

const G: Group = Group::Control;

/// The log is cut, changed or added to, and the head beside it says otherwise.
macro_rules! log {
    ($id:literal, $tried:literal, $script:literal) => {
        steps(
            $id,
            G,
            $tried,
            "verify names the first bad record",
            &[
                Step::Stage("echo 1 > one"),
                Step::Stage("echo 2 > two"),
                Step::Twin(&[Step::Ours(&["audit", "verify"], &[0])]),
                Step::Host(concat!("cd {state}/cofferdam && ", $script)),
                Step::Ours(&["audit", "verify"], &[1]),
                Step::Says("record"),
            ],
        )
    };
}

/// What an agent asks of the server, which speaks on standard input and output.
macro_rules! tool {
    ($id:literal, $tried:literal, $holds:literal, $name:literal, $arguments:literal, $sees:expr) => {
        steps(
            $id,
            G,
            $tried,
            $holds,
            &[
                Step::File("inside.txt", "inside\n"),
                Step::Host(concat!(
                    "say() { printf '%s\\n' \"$1\"; }; { ",
                    "say '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{",
                    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},",
                    "\"clientInfo\":{\"name\":\"attack\",\"version\":\"1\"}}}'; ",
                    "say '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}'; ",
                    "say '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"",
                    $name,
                    "\",\"arguments\":",
                    $arguments,
                    "}}'; ",
                    "say '{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",",
                    "\"arguments\":{\"path\":\"inside.txt\"}}}'; ",
                    "i=0; while [ $i -lt 200 ] && ! grep -q '\"id\":3' ../answers; do sleep 0.1; i=$((i+1)); done; ",
                    "} | \"$COFFERDAM\" mcp $SANDBOX > ../answers; grep -q '\"id\":2' ../answers"
                )),
                $sees,
                Step::Twin(&[Step::Sees("grep '\"id\":3' ../answers | grep -q inside")]),
            ],
        )
    };
}

/// What somebody asks of the control plane, which is started for it: refused, where the same server answers its own
/// token.
macro_rules! server {
    ($id:literal, $tried:literal, $holds:literal, $attack:literal) => {
        steps(
            $id,
            G,
            $tried,
            $holds,
            &[
                Step::Host(concat!(
                    "\"$COFFERDAM\" serve --listen 127.0.0.1:0 --no-runner --json > ../ready 2> ../log & server=$!; ",
                    "i=0; until [ -s ../ready ] || [ $i -gt 400 ]; do sleep 0.05; i=$((i+1)); done; ",
                    "at=$(sed 's,.*\"url\":\"http://\\([^\"]*\\)\".*,\\1,' ../ready); ",
                    "token=\"Authorization: Bearer $(cat {state}/cofferdam/server/admin-token)\"; ",
                    "ask() { {try} http \"$at\" \"$@\"; }; ",
                    "ask 'GET /v1/me HTTP/1.1' \"Host: $at\" \"$token\"; echo $? > ../twin; ",
                    $attack,
                    "; echo $? > ../answer; kill -TERM $server; wait $server; test -s ../ready"
                )),
                Step::Sees("grep -qx 1 ../answer"),
                Step::Twin(&[Step::Sees("grep -qx 0 ../twin")]),
            ],
        )
    };
}

const ANSWERED_WITH_AN_ERROR: Step =
    Step::Sees("grep '\"id\":2' ../answers | grep -q -e '\"isError\":true' -e '\"error\"'");

pub(super) const ATTACKS: &[Attack] = &[
    log!("G-log-edited", "change a record of the log", "sed -i '3s/sandbox/sandbax/' audit.jsonl"),
    log!("G-log-deleted", "take a record out of the log", "sed -i 3d audit.jsonl"),
    log!("G-log-reordered", "swap two records of the log", "sed -i '3{h;d};4{G}' audit.jsonl"),
    log!("G-log-cut", "cut the end off the log", "sed -i '$d' audit.jsonl"),
    log!(
        "G-log-repeated",
        "repeat a record at the end of the log",
        "tail -n 1 audit.jsonl >> audit.jsonl"
    ),
    log!(
        "G-log-cut-with-head",
        "cut the end off the log and remove its head",
        "sed -i '3,$d' audit.jsonl && rm audit.head"
    ),
    steps(
        "G-record-edited",
        G,
        "change the record of a run",
        "verify names the file",
        &[
            Step::Stage("echo 1 > one"),
            Step::Twin(&[Step::Ours(&["audit", "verify"], &[0])]),
            Step::Host(
                "cd {state}/cofferdam/runs/* && sed -i 's/\"exit_code\": 0/\"exit_code\": 9/' record.json",
            ),
            Step::Ours(&["audit", "verify"], &[1]),
            Step::Says("record.json"),
        ],
    ),
    steps(
        "G-output-edited",
        G,
        "change what a run printed",
        "verify names the file",
        &[
            Step::Stage("echo true words"),
            Step::Twin(&[Step::Ours(&["audit", "verify"], &[0])]),
            Step::Host("cd {state}/cofferdam/runs/* && printf 'fals_ words\\n' > stdout"),
            Step::Ours(&["audit", "verify"], &[1]),
            Step::Says("stdout"),
        ],
    ),
    steps(
        "G-unknown-key",
        G,
        "a key that nobody knows, in the settings",
        "an error that names it, and nothing runs",
        &[
            Step::Twin(&[Step::Run(&[], "true", &[0])]),
            Step::Settings("sandbox: { netwrok: none }"),
            Step::Run(&[], "true", &[125]),
            Step::Says("netwrok"),
        ],
    ),
    steps(
        "G-wrong-kind",
        G,
        "a value of the wrong kind, in the settings",
        "an error that names it, and nothing runs",
        &[
            Step::Twin(&[Step::Run(&[], "true", &[0])]),
            Step::Settings("sandbox: { memory_limit: [] }"),
            Step::Run(&[], "true", &[125]),
            Step::Says("memory_limit"),
        ],
    ),
    steps(
        "G-duplicate-key",
        G,
        "a key that stands twice, in the settings",
        "an error, and nothing runs",
        &[
            Step::Twin(&[Step::Run(&[], "true", &[0])]),
            Step::Settings("sandbox:\n  network: none\n  network: host\n"),
            Step::Run(&[], "true", &[125]),
        ],
    ),
    steps(
        "G-alias-bomb",
        G,
        "settings that unfold to gigabytes",
        "an error, at once, and nothing runs",
        &[
            Step::Twin(&[Step::Run(&[], "true", &[0])]),
            Step::File(
                "cofferdam.yaml",
                "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                 d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e]\n",
            ),
            Step::Run(&[], "true", &[125]),
        ],
    ),
    steps(
        "G-project-unsandboxed",
        G,
        "a project file that asks to run without a sandbox",
        "it is not obeyed",
        &[
            Step::Twin(&[Step::Run(&[], "true", &[0])]),
            Step::File("cofferdam.yaml", "sandbox: { enabled: false, fallback_to_direct: true }\n"),
            Step::Run(&[], "echo x > {outside}/made", &[1, 2, 125]),
            Step::Sees("test ! -e {outside}/made"),
        ],
    ),
    steps(
        "G-run-name",
        G,
        "a path in place of a run's name",
        "no such run",
        &[
            Step::Stage("echo 1 > one"),
            Step::Ours(&["show", "../../../etc"], &[1, 2]),
            Step::Ours(&["logs", "/etc/passwd"], &[1, 2]),
            Step::SaysNot("root:"),
            Step::Ours(&["discard", ".."], &[1, 2]),
            Step::Sees("test -d {state}/cofferdam/runs"),
            Step::Twin(&[Step::Ours(&["show", "last"], &[0])]),
        ],
    ),
    steps(
        "G-apply-path",
        G,
        "a path out of the workspace, to be applied",
        "nothing outside is touched",
        &[
            Step::Stage("echo 1 > one"),
            Step::Ours(&["apply", "last", "../outside/canary"], &[1, 2, 3]),
            Step::Unchanged,
            Step::Twin(&[Step::Ours(&["apply", "last", "one"], &[0])]),
        ],
    ),
    tool!(
        "G-tool-path",
        "an agent reads a path that leads out",
        "an error, and no byte of it",
        "read_file",
        "{\"path\":\"../../../etc/passwd\"}",
        Step::Sees("! grep '\"id\":2' ../answers | grep -q root:")
    ),
    tool!(
        "G-tool-outside",
        "an agent reads a file of the host by its path",
        "an error",
        "read_file",
        "{\"path\":\"{outside}/canary\"}",
        ANSWERED_WITH_AN_ERROR
    ),
    tool!(
        "G-tool-write",
        "an agent writes a file of the host by its path",
        "an error, and nothing is written",
        "write_file",
        "{\"path\":\"{outside}/made\",\"content\":\"x\"}",
        Step::Sees("test ! -e {outside}/made")
    ),
    tool!(
        "G-tool-shell-words",
        "an agent hides a command in a path",
        "a path is a path",
        "read_file",
        "{\"path\":\"$(touch {outside}/made); touch made\"}",
        ANSWERED_WITH_AN_ERROR
    ),
    tool!(
        "G-tool-unknown",
        "an agent asks for more than a tool has",
        "an error",
        "read_file",
        "{\"path\":\"inside.txt\",\"as_root\":true}",
        ANSWERED_WITH_AN_ERROR
    ),
    tool!(
        "G-tool-apply",
        "an agent applies its own changes, where nobody said that it may",
        "there is no such tool",
        "apply",
        "{}",
        ANSWERED_WITH_AN_ERROR
    ),
    tool!(
        "G-tool-escapes",
        "an agent has a command write outside",
        "the command is as confined as any",
        "shell",
        "{\"command\":\"echo x > {outside}/made; echo x > /etc/made\"}",
        Step::Sees("test ! -e {outside}/made")
    ),
    server!(
        "G-http-no-token",
        "ask the control plane without a token",
        "refused",
        "ask 'GET /v1/tasks HTTP/1.1' \"Host: $at\""
    ),
    server!(
        "G-http-wrong-token",
        "ask it with a token that nobody made",
        "refused",
        "ask 'GET /v1/tasks HTTP/1.1' \"Host: $at\" 'Authorization: Bearer cofferdam_x'"
    ),
    server!(
        "G-http-rebinding",
        "ask it under another name, as a page does whose name was bound to the loopback",
        "it does not answer to that name",
        "ask 'GET /v1/me HTTP/1.1' 'Host: evil.example' \"$token\""
    ),
    server!(
        "G-http-absolute",
        "name another host in the target than in the header",
        "refused",
        "ask 'GET http://evil.example/v1/me HTTP/1.1' \"Host: $at\" \"$token\""
    ),
    server!(
        "G-http-origin",
        "ask it from a page of another origin",
        "refused, token or not",
        "ask 'GET /v1/me HTTP/1.1' \"Host: $at\" \"$token\" 'Origin: http://evil.example'"
    ),
    server!(
        "G-http-cross-site",
        "the same, as browsers call it",
        "refused, token or not",
        "ask 'GET /v1/me HTTP/1.1' \"Host: $at\" \"$token\" 'Sec-Fetch-Site: cross-site'"
    ),
    server!(
        "G-http-simple-post",
        "send what a page may send without asking: a form's text",
        "only JSON is taken",
        "ask 'POST /v1/projects HTTP/1.1' \"Host: $at\" \"$token\" 'Content-Type: text/plain' \
         \"body:{\\\"name\\\":\\\"x\\\",\\\"root_path\\\":\\\"$PWD\\\"}\""
    ),
    server!(
        "G-http-path",
        "climb out of a path with escapes",
        "no such thing",
        "ask 'GET /v1/tasks/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1' \"Host: $at\" \"$token\""
    ),
    server!(
        "G-http-large",
        "announce a body of a gigabyte",
        "refused before it is read",
        "ask 'POST /v1/projects HTTP/1.1' \"Host: $at\" \"$token\" 'Content-Type: application/json' \
         'Content-Length: 1073741824'"
    ),
    server!(
        "G-http-deep",
        "a body that is nested a hundred thousand times",
        "refused, and the server goes on",
        "ask 'POST /v1/projects HTTP/1.1' \"Host: $at\" \"$token\" 'Content-Type: application/json' \
         \"body:$(head -c 100000 /dev/zero | tr '\\0' '[')\" || ! ask 'GET /v1/me HTTP/1.1' \"Host: $at\" \"$token\""
    ),
    steps(
        "G-http-beyond-loopback",
        G,
        "serve everybody, without a certificate",
        "it does not start",
        &[
            Step::Ours(&["serve", "--listen", "0.0.0.0:0", "--no-runner"], &[1, 2]),
            Step::Twin(&[Step::Ours(&["serve", "--help"], &[0])]),
        ],
    ),
];
