//! What an editor obeys.

use super::Class::Editor;
use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(Editor, ".vscode/tasks.json", &[".vscode/tasks.json", ".VSCode/tasks.json"])
        .because("holds tasks that VS Code may run when the folder is opened"),
    Row::new(Editor, ".vscode/", &[".vscode/settings.json", ".vscode", "web/.vscode/launch.json"])
        .because("is obeyed by VS Code, which runs programs that it names")
        .but_not(&[".vscodeignore", "vscode/tasks.json"]),
    Row::new(Editor, "*.code-workspace", &["a.code-workspace"])
        .because("is obeyed by VS Code, which runs programs that it names"),
    Row::new(Editor, ".devcontainer/", &[".devcontainer/devcontainer.json"]).because(
        "builds a container, and can run a command on the host, when the folder is opened",
    ),
    Row::new(Editor, ".devcontainer.json", &[".devcontainer.json"]).because(
        "builds a container, and can run a command on the host, when the folder is opened",
    ),
    Row::new(Editor, ".idea/", &[".idea/workspace.xml", ".idea"])
        .because("is obeyed by JetBrains editors, which run programs that it names"),
    Row::new(Editor, ".run/*.run.xml", &[".run/Tests.run.xml", "web/.run/a.run.xml"])
        .because("is a run configuration of JetBrains editors, which names what they start")
        .but_not(&[".run/notes.md", "run/a.run.xml"]),
    Row::new(Editor, "{.project,.classpath}", &[".project", "app/.classpath"])
        .because("is obeyed by Eclipse and editors with its Java tools, which run builders that it names")
        .but_not(&["project", "app.project"]),
    Row::new(Editor, ".settings/", &[".settings/org.eclipse.jdt.core.prefs", ".settings"])
        .because("is obeyed by Eclipse, builders and what follows a save included")
        .but_not(&["settings/a.prefs"]),
    Row::new(Editor, "*.{iml,ipr,iws}", &["app.iml"]).but_not(&["app.xml"]),
    Row::new(
        Editor,
        "{.zed,.fleet,.vs,.theia,.nova,.helix,.vim,.nvim}/",
        &[".zed/tasks.json", ".vs/x", ".helix/languages.toml"],
    )
    .but_not(&["vs/x.h"]),
    Row::new(Editor, "*.sublime-{project,build}", &["a.sublime-project"]),
    Row::new(
        Editor,
        "{.,_}{exrc,vimrc,gvimrc,nvimrc,lvimrc}",
        &[".exrc", ".nvimrc", ".vimrc", "_vimrc", ".lvimrc"],
    )
    .because("is executed by Vim where it is told to obey local files"),
    Row::new(Editor, ".{nvim,exrc}.lua", &[".nvim.lua"])
        .because("is executed by Neovim where it is told to obey local files"),
    Row::new(Editor, ".dir-locals{,-2}.el", &[".dir-locals.el", "a/.dir-locals-2.el"])
        .because("is obeyed by Emacs when a file of the directory is opened"),
    Row::new(Editor, ".emacs{,.d/init.el}", &[".emacs", ".emacs.d/init.el"]),
    Row::new(Editor, ".ycm_extra_conf.py", &[".ycm_extra_conf.py"])
        .because("is executed by an editor's completion"),
    Row::new(
        Editor,
        "{.gitpod.yml,.gitpod.dockerfile,.replit,replit.nix}",
        &[".gitpod.yml", ".replit"],
    )
    .because("is executed when the project is opened in a workspace elsewhere"),
    Row::new(
        Editor,
        "{.idx,.codesandbox,.externaltoolbuilders,nbproject}/",
        &[".idx/dev.nix", ".externalToolBuilders/a.launch"],
    ),
    Row::new(
        Editor,
        "{hie.yaml,rust-project.json,rust-analyzer.toml,.rust-analyzer.toml}",
        &["hie.yaml", "rust-project.json"],
    )
    .because("can name programs that an editor's language server starts"),
    Row::new(Editor, "{.local.vimrc,.vimspector.json}", &[".local.vimrc"]),
];
