//! Ways past the validator, each run inside the sandbox: what it misses does no harm there.
//!
//! Every script tries the same: to take a key out of the user's home and to leave a mark there. It gets at the means
//! for it by another way each time. Those that the validator does not find are marked so, and are as harmless.

use cofferdam_testkit::claim;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Whether `check` denies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Found,
    Missed,
}

/// Each runs `LINE` in a shell.
#[rustfmt::skip]
const BYPASSES: &[(&str, Seen, &str)] = &[
    ("plainly", Seen::Found, "import os\nos.system(LINE)\n"),
    ("an alias", Seen::Found, "from os import system as go\ngo(LINE)\n"),
    ("getattr on builtins", Seen::Found, "go = getattr(__builtins__, '__imp' + 'ort__')('os').system\ngo(LINE)\n"),
    ("__import__", Seen::Found, "__import__('os').system(LINE)\n"),
    ("a walk over classes", Seen::Found, "for c in ().__class__.__mro__[1].__subclasses__():\n    if c.__name__ == 'Popen' or c.__name__ == '_wrap_close':\n        c.__init__.__globals__['system'](LINE)\n        break\n"),
    ("a format text", Seen::Found, "import subprocess\nclass A:\n    def __init__(self): pass\nprint('{0.__init__.__globals__}'.format(A())[:40])\nsubprocess.run(LINE, shell=True)\n"),
    ("a decorator", Seen::Found, "@exec\n@lambda f: 'import os; os.system(' + repr(LINE) + ')'\ndef f(): pass\n"),
    ("a metaclass", Seen::Found, "import os\nclass M(type):\n    def __getitem__(c, line): return os.system(line)\nclass A(metaclass=M): pass\nA[LINE]\n"),
    ("a class made by type()", Seen::Missed, "import json\nA = type('A', (), {'go': staticmethod(json.decoder.scanner.re.enum.sys.modules['posix'].system)})\nA.go(LINE)\n"),
    ("an encoding", Seen::Found, "# -*- coding: utf-7 -*-\nimport os\nos.system(LINE)\n"),
    ("other letters", Seen::Found, "ｅｘｅｃ('import os; os.system(LINE)')\n"),
    ("exec by codecs", Seen::Found, "import codecs\nexec(codecs.decode('vzcbeg bf; bf.flfgrz(YVAR)', 'rot13').replace('line', 'LINE'))\n"),
    ("pickle", Seen::Found, "import pickle, os\nclass A:\n    def __reduce__(self): return (os.system, (LINE,))\npickle.loads(pickle.dumps(A()))\n"),
    ("marshal", Seen::Found, "import marshal\ncode = compile('import os; os.system(LINE)', 'f', 'exec')\nexec(marshal.loads(marshal.dumps(code)))\n"),
    ("ctypes", Seen::Found, "import ctypes\nctypes.CDLL(None).system(LINE.encode())\n"),
    ("sys.modules", Seen::Found, "import sys, os\nsys.modules['o' + 's'].system(LINE)\n"),
    ("strings and comments around it", Seen::Found, "# os.system\ns = 'os.system'\nimport os; os.system(LINE)  # harmless\n"),
    ("a module that imports os for us", Seen::Missed, "import shutil\nshutil.os.system(LINE)\n"),
    ("through logging", Seen::Missed, "import logging\nprint(logging.os.popen(LINE).read())\n"),
    ("a name built at run time", Seen::Missed, "import shutil\nn = ''.join(chr(c) for c in (115, 121, 115, 116, 101, 109))\nvars(shutil.os)[n](LINE)\n"),
    ("a walrus and a subscript", Seen::Found, "import os\n[f := os.__dict__['sys' + 'tem'], f(LINE)]\n"),
    ("match, new in 3.10", Seen::Found, "import os\nmatch os:\n    case m:\n        m.system\n        os.system(LINE)\n"),
    ("a generator's frame", Seen::Found, "g = (i for i in ())\nb = g.gi_frame.f_builtins\nb['__import__']('os').system(LINE)\n"),
];

#[test]
fn what_the_validator_misses_is_harmless_inside() {
    claim::as_root_and_as_user(BINARY, |env| {
        let key = env.home().join(".ssh/id_test");
        std::fs::create_dir_all(key.parent().unwrap()).unwrap();
        std::fs::write(&key, "SECRET KEY").unwrap();
        let mark = env.home().join("mark");
        let reach = format!("cat {} && echo it ran; echo x > {}", key.display(), mark.display());
        let ran = "echo here; ";
        // Not in the script, where a rule about credentials would find it.
        env.file("line", format!("{ran}{reach}"));
        for (name, seen, body) in BYPASSES {
            // An encoding has to stand in the first line.
            let head = body.lines().next().filter(|line| line.starts_with('#')).unwrap_or_default();
            env.file("bypass.py", format!("{head}\nLINE = open('line').read()\n{body}"));
            let found = env.run(["check", "bypass.py"]).code() == Some(1);
            assert_eq!(found, *seen == Seen::Found, "{name}");
            let before = env.tree_hash(env.home());
            let done = claim::run(env, &[], "python3 bypass.py");
            let said = done.stdout_text().into_owned() + &done.stderr_text();
            assert!(said.contains("here"), "{name} did not get as far as a shell: {said}");
            assert!(!said.contains("SECRET") && !said.contains("it ran"), "{name}: {said}");
            assert!(!mark.exists(), "{name} left a mark");
            assert_eq!(env.tree_hash(env.home()), before, "{name} changed the home directory");
        }
    });
}
