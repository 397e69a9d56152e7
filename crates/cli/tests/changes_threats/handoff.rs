//! Files that somebody executes later: each is named with its class, and comes home only with its own yes.

use std::process::Command;

use cofferdam_core::attack::{Way, all};

use super::*;

/// A path, and the class that holds it: those of the attack suite, and some that only mean something together.
fn planted() -> Vec<(&'static str, &'static str)> {
    let alone = all().filter_map(|attack| match attack.way {
        Way::Planted { path, class } => Some((path, class)),
        _ => None,
    });
    let together = [
        ("store/config", "git-internals"),
        ("store/hooks/pre-push", "commit-hooks"),
        (".vscode/extensions.json", "editor"),
    ];
    alone.chain(together).collect()
}

fn planting() -> String {
    let each = planted().into_iter().map(|(path, _)| {
        let dir = std::path::Path::new(path).parent().unwrap().display().to_string();
        let dir = if dir.is_empty() { ".".to_owned() } else { dir };
        format!("mkdir -p '{dir}'; echo '{{}}' > '{path}'; ")
    });
    each.collect()
}

#[test]
fn everything_that_runs_later_is_named_and_needs_its_own_yes() {
    let env = env();
    stage(&env, &format!("{} echo fine > fine.txt", planting()));
    let all = env.run(["gate", "--json"]).json();
    let entries = all["entries"].as_array().unwrap();
    for (path, class) in &planted() {
        let entry = entries.iter().find(|entry| entry["path"] == *path).unwrap();
        let classes = entry["classes"].to_string();
        assert!(classes.contains(&format!("\"{class}\"")), "{path}: {entry}");
        assert_ne!(entry["blocks"], serde_json::json!([]), "{path} is not held");
    }
    let hook = judged(&env, ".git/hooks/pre-commit");
    assert!(hook["reasons"].to_string().contains("CRITICAL"), "{hook}");
    refused(&env, &[]);
    // A yes to one class is a yes to no other.
    let before = tree(&env);
    env.run(["apply", "--allow-class", "ci"]).assert_exit(3);
    assert_eq!(tree(&env), before);
    env.run(["apply", "--allow-class", "ci", ".github", "fine.txt"]).assert_exit(0);
    assert_eq!(names(&env), [".github", "fine.txt"]);
    env.run(["apply", "--rest"]).assert_exit(0);
    for (path, _) in planted().iter().filter(|(_, class)| *class != "ci") {
        assert!(!env.workspace().join(path).exists(), "{path} came with the rest");
    }
    // Its twin: with the yes it comes.
    env.run(["apply", "--allow-class", "editor", ".vscode"]).assert_exit(0);
    assert!(env.workspace().join(".vscode/tasks.json").exists());
}

#[test]
fn a_class_can_be_forbidden_for_good() {
    let env = env();
    env.host_config("changes: {deny: ['.vscode/', '**/*.pth']}\n");
    stage(
        &env,
        "mkdir .vscode lib; echo '{}' > .vscode/tasks.json; echo x > lib/a.pth; echo f > f",
    );
    refused(&env, &["--allow-class", "editor", "--allow-class", "interpreter-startup"]);
    env.run(["apply", "--rest"]).assert_exit(0);
    assert!(text(&env, "f") == "f\n" && !env.workspace().join(".vscode").exists());
}

/// A `.git` that leads elsewhere, modules behind a link or with a carriage return in their path: git of the
/// host never gets to read them unasked.
#[test]
fn repositories_that_lead_elsewhere() {
    both(|env| {
        let evil = env.top().join("evil");
        fs::create_dir(&evil).unwrap();
        let before = env.tree_hash(&evil);
        stage(
            env,
            &format!(
                "echo 'gitdir: {0}' > .git; mkdir sub; echo 'gitdir: ../../evil' > sub/.git; \
                 git init -q --separate-git-dir=apart tree; ln -s /etc/passwd .gitmodules; \
                 printf '[submodule \"s\"]\\n\\tpath = \"sub\\r\"\\n\\turl = x\\n' > modules; \
                 mkdir \"$(printf 'sub\\r')\"; echo x > \"$(printf 'sub\\r/.git')\"",
                evil.display()
            ),
        );
        for path in [".git", "sub/.git", "tree/.git", "apart/config", "sub\r/.git"] {
            let classes = judged(env, path)["classes"].to_string();
            assert!(classes.contains("git-internals"), "{path:?}: {classes}");
        }
        let classes = judged(env, ".gitmodules")["classes"].to_string();
        assert!(classes.contains("git-attributes"), "{classes}");
        assert!(classes.contains("escaping-symlink"), "{classes}");
        refused(env, &[]);
        for words in [&["diff"][..], &["diff", "--log"], &["diff", "--patch"]] {
            env.run(words);
        }
        assert_eq!(env.tree_hash(&evil), before);
    });
}

/// Every setting by which git executes something, written by the program; then every command of ours, on the
/// tree that it left.
#[test]
fn no_setting_of_the_programs_git_is_obeyed() {
    both(|env| {
        env.file("tracked", "1\n");
        let git = |args: &[&str]| {
            let mut git = env.program("git");
            git.env("GIT_CONFIG_NOSYSTEM", "1").args(["-c", "user.email=a@b", "-c", "user.name=n"]);
            git.args(args);
            env.finish(git).assert_exit(0);
        };
        git(&["init", "-q", "-b", "main", "."]);
        git(&["add", "."]);
        git(&["commit", "-qm", "first"]);
        let canary = env.top().join("canary");
        let settings = [
            "core.fsmonitor",
            "core.sshCommand",
            "core.pager",
            "core.editor",
            "core.askPass",
            "core.gitProxy",
            "diff.external",
            "diff.x.textconv",
            "diff.x.command",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "merge.x.driver",
            "credential.helper",
            "gpg.program",
            "alias.status",
            "alias.diff",
            "sequence.editor",
            "remote.origin.uploadpack",
            "remote.origin.receivepack",
            "uploadpack.packObjectsHook",
            "interactive.diffFilter",
            "pager.diff",
            "man.x.cmd",
            "browser.x.cmd",
        ];
        let trap = format!("!touch {0}; touch {0}", canary.display());
        let mut script = String::from("git config user.email a@b; git config user.name n; ");
        for setting in settings {
            script += &format!("git config '{setting}' '{trap}'; ");
        }
        script += "git config include.path /workspace/evil; git config protocol.ext.allow always; \
                   git config url.ext::sh.insteadOf https://; \
                   printf '[core]\\n\\thooksPath = /workspace/hooks\\n' > evil; mkdir hooks; \
                   printf '#!/bin/sh\\ntouch \"%s\"\\n' CANARY > hooks/pre-commit; chmod +x hooks/pre-commit; \
                   echo '* filter=x diff=x merge=x' > .gitattributes; echo 2 > tracked; \
                   GIT_CONFIG_COUNT=0 git -c core.fsmonitor= -c core.hooksPath=/dev/null \
                   -c filter.x.process= -c filter.x.clean=cat commit -qam second 2>/dev/null || :";
        claim::run(env, &[], &script.replace("CANARY", &canary.display().to_string()))
            .assert_exit(0);
        assert!(!canary.exists(), "the sandbox itself");
        for words in [
            &["diff"][..],
            &["diff", "--stat"],
            &["diff", "--patch"],
            &["diff", "--json"],
            &["diff", "--log"],
            &["gate"],
            &["apply", "--check"],
            &["apply"],
            &["apply", "--merge", "tracked"],
            &["apply", "--branch", "agent"],
            &["undo"],
            &["discard"],
            &["gc"],
        ] {
            env.run(words);
            assert!(!canary.exists(), "{words:?} executed what was planted");
        }
        let config = text(env, ".git/config");
        assert!(!config.contains("canary"), "{config}");
    });
}

/// A project file that a program wrote loosens nothing, even after somebody applied it.
#[test]
fn a_program_cannot_loosen_the_next_run() {
    both(|env| {
        let loose = "sandbox: {backend: local, mode: direct, network: host, blocked: []}\n\
                     changes: {auto: [\"**\"], allow_classes: [executable, ci, cofferdam-config]}\n";
        env.file(".env", "secret");
        stage(env, &format!("printf '{}' > cofferdam.yaml", loose.replace('\n', "\\n")));
        assert_eq!(
            judged(env, "cofferdam.yaml")["classes"],
            serde_json::json!(["cofferdam-config"])
        );
        refused(env, &[]);
        env.run(["apply", "--allow-class", "cofferdam-config"]).assert_exit(0);
        let plan = env.run(["run", "--dry-run", "--relax", "limits", "--", "true"]).json();
        assert_eq!(plan["backend"], "native", "{plan}");
        assert_eq!(
            (&plan["workspace"]["mode"], &plan["network"]),
            (&"stage".into(), &"none".into())
        );
        assert!(plan["blocked"].to_string().contains(".env"), "{plan}");
        stage(env, "test ! -s .env; mkdir -p .github/workflows; echo x > .github/workflows/a.yml");
        refused(env, &[]);
    });
}

/// Nothing that one run leaves outside the workspace is there for the next, and caches of the host are not to
/// be written.
#[test]
fn a_run_cannot_poison_what_the_next_one_uses() {
    both(|env| {
        let cache = env.home().join(".cache/pip/wheel");
        fs::create_dir_all(cache.parent().unwrap()).unwrap();
        fs::write(&cache, "verified").unwrap();
        let home = env.tree_hash(env.home());
        stage(
            env,
            "for d in ~/.cache/pip ~/.npm ~/.cargo/registry ~/.bun /tmp/shared /dev/shm/shared; do \
             mkdir -p $d; echo poisoned > $d/wheel; done; \
             for d in /usr/lib /usr/local/bin /opt /var/cache; do echo p > $d/wheel 2>/dev/null && exit 9; \
             done; exit 0",
        );
        assert_eq!(env.tree_hash(env.home()), home);
        let script = "find / -xdev -name wheel -not -path '/proc/*' 2>/dev/null | xargs -r grep -l p; \
                      ls -A ~ /tmp /dev/shm";
        let done = claim::run(env, &[], script);
        assert!(!done.stdout_text().contains("wheel"), "{done:?}");
        assert!(env.manifest("last").entries.is_empty());
    });
}

/// Files that a login, a scheduler or a service reads are not there to be written.
#[test]
fn what_starts_with_the_user_cannot_be_reached() {
    both(|env| {
        let places = [
            ".bashrc",
            ".profile",
            ".zshrc",
            ".ssh/config",
            ".ssh/authorized_keys",
            ".local/bin/ls",
            ".config/systemd/user/x.service",
            ".config/autostart/x.desktop",
        ];
        for place in places {
            let path = env.home().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "own").unwrap();
        }
        let before = env.tree_hash(env.home());
        let home = env.home().display().to_string();
        let mut script = String::new();
        for place in places {
            script += &format!(
                "mkdir -p \"$(dirname {home}/{place})\" 2>/dev/null; \
                                echo evil >> {home}/{place} 2>/dev/null; echo evil >> ~/{place} 2>/dev/null; "
            );
        }
        script += "for f in /etc/crontab /var/spool/cron/root /etc/ld.so.preload /etc/profile; do \
                   echo evil >> $f 2>/dev/null && echo wrote $f; done; :";
        let done = claim::run(env, &[], &script);
        done.assert_exit(0).assert_stdout("");
        assert_eq!(env.tree_hash(env.home()), before);
        assert!(
            !Command::new("grep").args(["-rl", "evil"]).arg(env.home()).status().unwrap().success()
        );
    });
}
