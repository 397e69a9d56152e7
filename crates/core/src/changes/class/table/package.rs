//! What package managers obey.

use super::Class::PackageScripts;
use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(PackageScripts, "package.json", &["package.json", "web/Package.json"])
        .because("holds scripts that npm runs on install, and the packages that it fetches")
        .but_not(&["package.jsonl", "my-package.json", "package-lock.json"]),
    Row::new(PackageScripts, "node_modules/.bin/", &["node_modules/.bin/tsc"])
        .because("is a command of the project's packages"),
    Row::new(PackageScripts, ".npmrc", &[".npmrc"])
        .because("decides where npm fetches from, and which programs it uses"),
    Row::new(PackageScripts, ".yarnrc*", &[".yarnrc", ".yarnrc.yml"])
        .because("decides where yarn fetches from, and which program yarn is"),
    Row::new(PackageScripts, ".yarn/", &[".yarn/releases/yarn-4.cjs", ".yarn/plugins/x.cjs"])
        .because("is run as yarn itself"),
    Row::new(PackageScripts, ".pnp.{js,cjs,loader.mjs}", &[".pnp.cjs", ".pnp.loader.mjs"]),
    Row::new(PackageScripts, "{.,}pnpmfile.{js,cjs,mjs}", &[".pnpmfile.cjs"])
        .because("is executed by pnpm on install"),
    Row::new(PackageScripts, "{pnpm-workspace.yaml,bunfig.toml,deno.json,deno.jsonc,jsr.json,lerna.json,.ncurc.js}", &["pnpm-workspace.yaml", "bunfig.toml", "deno.json"]),
    Row::new(PackageScripts, "pip.{conf,ini}", &["pip.conf", ".config/pip/pip.conf"])
        .because("decides where pip fetches from"),
    Row::new(PackageScripts, "pyproject.toml", &["pyproject.toml"])
        .because("names the build backend that pip executes, and the packages that it fetches"),
    Row::new(PackageScripts, "setup.{py,cfg}", &["setup.py", "setup.cfg"])
        .because("is executed or obeyed by pip on install")
        .but_not(&["setup.md", "setup.pyc"]),
    Row::new(PackageScripts, "{*requirements*,constraints}.{txt,in}", &["requirements.txt", "requirements-dev.txt", "dev-requirements.in"])
        .because("decides what pip fetches, and from where")
        .but_not(&["requirements.md"]),
    Row::new(PackageScripts, "{pipfile,uv.toml,poetry.toml,.condarc,condarc,environment.yml,environment.yaml}", &["Pipfile", "uv.toml"])
        .but_not(&["pipfile.lock", "uv.lock"]),
    Row::new(PackageScripts, "{gemfile,gems.rb,.gemrc}", &["Gemfile", ".gemrc"])
        .because("is executed by bundler")
        .but_not(&["gemfile.lock"]),
    Row::new(PackageScripts, "*.gemspec", &["a.gemspec"]).because("is executed by bundler"),
    Row::new(PackageScripts, ".bundle/", &[".bundle/config"]),
    Row::new(PackageScripts, "composer.json", &["composer.json"])
        .because("holds scripts that composer runs on install")
        .but_not(&["composer.lock"]),
    Row::new(PackageScripts, "{podfile,cpanfile,makefile.pl,build.pl,conanfile.py,conanfile.txt,vcpkg.json,nuget.config}", &["Podfile", "conanfile.py", "NuGet.Config"])
        .but_not(&["podfile.lock"]),
    Row::new(PackageScripts, "{binding.gyp,*.gypi}", &["binding.gyp", "common.gypi"])
        .because("is built by npm on install, without being asked"),
    Row::new(PackageScripts, "*.{egg,dist}-info/entry_points.txt", &["a.egg-info/entry_points.txt"])
        .because("names code that Python's tools load as plugins"),
    Row::new(PackageScripts, "{*.rockspec,*.opam,*.cabal,cabal.project,stack.yaml,pixi.toml,.bowerrc}", &["a.cabal", "stack.yaml"])
        .but_not(&["stack.yml.md"]),
];
