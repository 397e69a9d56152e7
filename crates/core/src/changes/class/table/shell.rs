//! What shells and session managers read.

use super::Class::ShellEnv;
use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(ShellEnv, ".envrc*", &[".envrc", "a/.envrc.local"])
        .because("is executed by direnv when you enter the directory")
        .but_not(&["envrc.md"]),
    Row::new(ShellEnv, ".env*", &[".env", ".env.local", "app/.env.production"])
        .because("sets the environment of programs that are started here")
        .but_not(&["src/env.rs", "dotenv"]),
    Row::new(ShellEnv, ".direnv/", &[".direnv/bin/x"]),
    Row::new(ShellEnv, ".autoenv*", &[".autoenv", ".autoenv.zsh"])
        .because("is executed when you enter the directory"),
    Row::new(ShellEnv, ".tool-versions", &[".tool-versions"])
        .because("decides which tools asdf and mise put in the path"),
    Row::new(ShellEnv, "{.,}mise{,.*}.toml", &["mise.toml", ".mise.toml", ".mise.local.toml"])
        .because("is obeyed by mise when you enter the directory, and can run commands")
        .but_not(&["premise.toml"]),
    Row::new(ShellEnv, "{.,}mise/", &[".mise/config.toml", "mise/tasks/build", ".config/mise/config.toml"])
        .because("is obeyed by mise when you enter the directory, and can run commands"),
    Row::new(ShellEnv, ".{node,python,ruby,java,go,php,perl,terraform}-version", &[".python-version", ".node-version"])
        .because("decides which interpreter a version manager starts"),
    Row::new(ShellEnv, ".{nvmrc,sdkmanrc,rvmrc}", &[".nvmrc", ".rvmrc"])
        .because("is obeyed by a version manager when you enter the directory"),
    Row::new(ShellEnv, "{devbox.json,devenv.nix,devenv.yaml,.flox/env/manifest.toml}", &["devbox.json", "devenv.nix"]),
    Row::new(ShellEnv, ".{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,zshrc,zshenv,zprofile,zlogin,zlogout,kshrc,mkshrc,cshrc,tcshrc,login,logout}", &[".bashrc", ".profile", ".zshrc", "home/.zshenv"])
        .because("is executed when a shell starts")
        .but_not(&["profile", ".profiles", "bashrc.md"]),
    Row::new(ShellEnv, ".config/{fish,nushell,environment.d}/", &[".config/fish/config.fish"])
        .because("is executed when a shell starts"),
    Row::new(ShellEnv, "{config.fish,config.nu,env.nu}", &["config.fish"])
        .because("is executed when a shell starts"),
    Row::new(ShellEnv, "{microsoft.,}*profile.ps1", &["Microsoft.PowerShell_profile.ps1", "profile.ps1"])
        .because("is executed when a shell starts"),
    Row::new(ShellEnv, ".{inputrc,screenrc,tmux.conf}", &[".inputrc", ".tmux.conf"])
        .because("is obeyed by the terminal's programs, and can bind keys to commands"),
    Row::new(ShellEnv, ".{xprofile,xinitrc,xsession,xsessionrc,pam_environment}", &[".xprofile"])
        .because("is executed when a session starts"),
    Row::new(ShellEnv, ".config/{autostart,systemd}/", &[".config/autostart/a.desktop", ".config/systemd/user/x.service"])
        .because("is started with your session"),
    Row::new(ShellEnv, ".local/bin/", &[".local/bin/ls"]).because("is in the path of your shell"),
    Row::new(ShellEnv, ".ssh/", &[".ssh/config", ".ssh/authorized_keys"])
        .because("is obeyed by ssh, which runs programs that it names and lets in whom it lists"),
];
