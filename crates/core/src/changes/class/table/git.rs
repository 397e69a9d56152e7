//! What git reads.

use super::Class::{CommitHooks, GitAttributes, GitInternals};
use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(GitInternals, "{.git,git~1}/**/hooks/", &[".git/hooks/pre-commit", ".GIT/hooks", "vendor/sub/.git/hooks/post-checkout", ".git/modules/a/hooks/x"])
        .because("CRITICAL: is a git hook, which git runs on your next commit, checkout, merge or push"),
    Row::new(GitInternals, "{.git,git~1}/**/{config,config.worktree}", &[".git/config", ".git/modules/lib/config", ".git/worktrees/w/config.worktree", "GIT~1/config"])
        .because("CRITICAL: is a git config, which can name programs that git runs on any command"),
    Row::new(GitInternals, "{.git,git~1}/**/info/attributes", &[".git/info/attributes"])
        .because("CRITICAL: decides which filters and drivers git runs"),
    Row::new(GitInternals, "{.git,git~1}/", &[".git", ".git/HEAD", ".g\u{200c}it/index", ".git./objects/aa", "a/b/.git", ".git\\x", ".Git::$INDEX_ALLOCATION/x"])
        .because("is git's own directory, or says where it is")
        .but_not(&[".gitignore", "git", ".gitx/conf", "src/git/hooks.rs", "git~10"]),
    Row::new(GitInternals, "*.git/", &["fixtures/repo.git/config", "x.git"])
        .because("is a repository without a tree: git obeys its config once somebody is in it")
        .but_not(&["x.gitlab", "a.git.md"]),
    Row::new(GitInternals, "head", &["tests/data/HEAD", "HEAD"])
        .because("makes its directory look like a repository, whose config git then obeys")
        .but_not(&["head.html", "src/ahead"]),
    Row::new(GitInternals, ".gitconfig", &[".gitconfig", "home/.gitconfig"])
        .but_not(&["gitconfig.md"]),
    Row::new(GitInternals, ".config/git/", &[".config/git/config"]).but_not(&[".config/gitui/theme"]),
    Row::new(GitInternals, "{.hg,.svn,.jj,.sl,.bzr}/", &[".hg/hgrc", ".jj/repo/config.toml", "a/.svn"])
        .because("is the directory of another version control, which runs programs that it names")
        .but_not(&[".hgignore", ".jjx"]),
    Row::new(GitInternals, "{config,config.worktree,commondir,info/attributes}", &["gitstore/config", "store/modules/lib/config", "store/worktrees/w/commondir", "store/info/attributes"])
        .because("has a name that git obeys in a directory of its own, whatever that is called, and may name programs")
        .but_not(&["config.json", "src/config.rs", "config/app.yaml", "attributes"]),
    Row::new(GitAttributes, ".gitattributes", &[".gitattributes", "a/.GitAttributes"])
        .because("decides which filters and drivers git runs")
        .but_not(&["gitattributes", ".gitattributes.md"]),
    Row::new(GitAttributes, "{gitatt~[1-4],gi7d29~[1-9]}", &["GITATT~1", "GI7D29~1"])
        .because("is .gitattributes by its short name on Windows"),
    Row::new(GitAttributes, ".gitmodules", &[".gitmodules"])
        .because("decides what git fetches into the tree, and from where"),
    Row::new(GitAttributes, "{gitmod~[1-4],gi7eba~[1-9]}", &["GITMOD~1"])
        .because("is .gitmodules by its short name on Windows"),
    Row::new(GitAttributes, ".lfsconfig", &[".lfsconfig"])
        .because("decides where git-lfs fetches from"),
    Row::new(CommitHooks, ".husky/", &[".husky/pre-commit", ".husky"]).but_not(&["husky/readme.md"]),
    Row::new(CommitHooks, "{.hooks,.trunk}/", &[".hooks/pre-commit", ".trunk/trunk.yaml"]),
    Row::new(CommitHooks, "{.rusty-hook.toml,hk.pkl}", &["hk.pkl"]),
    Row::new(CommitHooks, ".huskyrc*", &[".huskyrc", ".huskyrc.js"]),
    Row::new(CommitHooks, ".pre-commit-{config,hooks}.{yaml,yml}", &[".pre-commit-config.yaml", ".pre-commit-hooks.yaml"])
        .but_not(&["pre-commit.md"]),
    Row::new(CommitHooks, "prek.toml", &["prek.toml"]),
    Row::new(CommitHooks, "{lefthook,.lefthook}*.{yml,yaml,toml,json}", &["lefthook.yml", ".lefthook.toml", "lefthook-local.yml"])
        .but_not(&["lefthook.md"]),
    Row::new(CommitHooks, ".lefthook{,-local}/", &[".lefthook/pre-push/check.sh"]),
    Row::new(CommitHooks, "{.,}{githooks,git-hooks}/", &[".githooks/pre-push", "git-hooks/commit-msg"])
        .because("is usually where git is told to look for hooks")
        .but_not(&["src/githooks.rs"]),
    Row::new(
        CommitHooks,
        "hooks/{applypatch-msg,commit-msg,fsmonitor-watchman,post-applypatch,post-checkout,post-commit,post-index-change,post-merge,post-receive,post-rewrite,post-update,pre-applypatch,pre-auto-gc,pre-commit,pre-merge-commit,pre-push,pre-rebase,pre-receive,prepare-commit-msg,proc-receive,push-to-checkout,reference-transaction,sendemail-validate,update}",
        &["hooks/pre-commit", "tools/hooks/post-checkout", "hooks/UPDATE"],
    )
    .because("has the name and the place of a git hook")
    .but_not(&["src/hooks/usestate.ts", "hooks/pre-commit.md", "pre-commit"]),
    Row::new(CommitHooks, ".lintstagedrc*", &[".lintstagedrc", ".lintstagedrc.json"]),
    Row::new(CommitHooks, ".commitlintrc*", &[".commitlintrc.js"]),
    Row::new(CommitHooks, "{.,}simple-git-hooks.{js,cjs,mjs,json}", &[".simple-git-hooks.json", "simple-git-hooks.js"]),
    Row::new(CommitHooks, "{.overcommit.yml,.gitlint,captainhook.json,grumphp.yml,grumphp.yml.dist}", &[".overcommit.yml", ".gitlint"]),
];
