//! What runs when the project is built.

use super::Class::BuildScripts;
use super::Row;

const MAKE: &str = "holds the commands that make runs";
const CARGO: &str = "names build scripts and packages whose code cargo runs while it builds";
const CARGO_CONFIG: &str = "can name the compiler, linker and runner that cargo starts";
const GRADLE: &str = "is executed by Gradle on any task, an editor's included";
const IMAGE: &str = "holds commands that run when the image is built or started";
const BAZEL: &str = "is executed by Bazel";
const TOOL: &str = "is executed by the tool that it configures";

pub(super) const ROWS: &[Row] = &[
    Row::new(BuildScripts, "{,gnu,bsd}makefile*", &["Makefile", "GNUmakefile", "a/makefile.am", "Makefile.inc"])
        .because(MAKE)
        .but_not(&["makefiles/readme", "cmakefile"]),
    Row::new(BuildScripts, "*.{mk,mak}", &["rules.mk"]).because(MAKE),
    Row::new(BuildScripts, "{.,}justfile", &["justfile", ".justfile"]).because("holds the commands that just runs"),
    Row::new(BuildScripts, "*.just", &["ci.just"]).because("holds the commands that just runs"),
    Row::new(BuildScripts, "taskfile*.{yml,yaml}", &["Taskfile.yml", "Taskfile.dist.yaml"])
        .because("holds the commands that task runs"),
    Row::new(BuildScripts, "{cmakelists.txt,*.cmake,cmakepresets.json,cmakeuserpresets.json}", &["CMakeLists.txt", "cmake/Find.cmake"])
        .because("is executed by CMake, an editor's included"),
    Row::new(BuildScripts, "{meson.build,meson_options.txt,meson.options,sconstruct,sconscript,wscript,build.ninja,build.zig,build.zig.zon,package.swift,build.sbt,build.sc,build.mill,build.xml,build.cake,setup.hs,rebar.config,rebar.config.script,mix.exs,dune,dune-project,premake5.lua,xmake.lua,tiltfile,earthfile,vagrantfile,procfile,skaffold.yaml,pavement.py,fabfile.py,tasks.py,dodo.py,noxfile.py,tox.ini,tox.toml,hatch.toml,hatch_build.py,build.py}", &["meson.build", "noxfile.py", "tox.ini", "mix.exs", "Vagrantfile", "Package.swift"])
        .but_not(&["build.txt", "tasks.md"]),
    Row::new(BuildScripts, "{project.clj,deps.edn,build.clj,build.boot}", &["deps.edn", "project.clj", "build.clj"])
        .because("is obeyed by Clojure's tools and editors, which run code that it holds or names")
        .but_not(&["src/core.clj", "data.edn"]),
    Row::new(BuildScripts, "configure{,.ac,.in}", &["configure", "configure.ac"]).but_not(&["configure.md"]),
    Row::new(BuildScripts, "*.m4", &["m4/a.m4"]),
    Row::new(BuildScripts, "autogen.sh", &["autogen.sh"]),
    Row::new(BuildScripts, "build.rs", &["build.rs", "crates/a/build.rs"])
        .because("is executed by cargo when it builds, an editor's check included")
        .but_not(&["src/builder.rs", "build.rs.md"]),
    Row::new(BuildScripts, "cargo.toml", &["Cargo.toml", "crates/a/Cargo.toml"])
        .because(CARGO)
        .but_not(&["cargo.lock"]),
    Row::new(BuildScripts, ".cargo/", &[".cargo/config.toml", ".cargo/config"]).because(CARGO_CONFIG),
    Row::new(BuildScripts, "rust-toolchain{,.toml}", &["rust-toolchain", "rust-toolchain.toml"])
        .because("decides which compiler rustup fetches and starts"),
    Row::new(BuildScripts, ".rustfmt.toml", &[".rustfmt.toml"]).because(TOOL),
    Row::new(BuildScripts, "go.{mod,work}", &["go.mod", "go.work"])
        .because("can choose another Go toolchain, which go fetches and runs")
        .but_not(&["go.sum", "go.mod.md"]),
    Row::new(BuildScripts, "gradlew{,.bat}", &["gradlew", "gradlew.bat"]).because(GRADLE),
    Row::new(BuildScripts, "gradle/wrapper/", &["gradle/wrapper/gradle-wrapper.jar"]).because(GRADLE),
    Row::new(BuildScripts, "*.gradle{,.kts}", &["build.gradle", "settings.gradle.kts", "a/init.gradle"]).because(GRADLE),
    Row::new(BuildScripts, "gradle.properties", &["gradle.properties"]).because(GRADLE),
    Row::new(BuildScripts, "buildsrc/", &["buildSrc/src/main/kotlin/a.kt"]).because(GRADLE),
    Row::new(BuildScripts, ".mvn/", &[".mvn/extensions.xml", ".mvn/wrapper/maven-wrapper.jar"]).because("is obeyed by Maven, which loads code that it names"),
    Row::new(BuildScripts, "mvnw{,.cmd}", &["mvnw"]).because("is run as Maven"),
    Row::new(BuildScripts, "pom.xml", &["pom.xml"]).because("names plugins that Maven runs, an editor's included"),
    Row::new(BuildScripts, "project/*.{sbt,scala}", &["project/plugins.sbt"]),
    Row::new(BuildScripts, "{,*.}{rakefile,rake}", &["Rakefile", "lib/tasks/a.rake"]).because("is executed by rake").but_not(&["brake"]),
    Row::new(BuildScripts, "{guardfile,capfile,fastfile,dangerfile,berksfile,thorfile,brewfile}", &["Guardfile", "fastlane/Fastfile"]),
    Row::new(BuildScripts, "{dockerfile,containerfile}*", &["Dockerfile", "Dockerfile.dev", "Containerfile"]).because(IMAGE),
    Row::new(BuildScripts, "*.{dockerfile,containerfile}", &["dev.Dockerfile"]).because(IMAGE).but_not(&[".dockerignore"]),
    Row::new(BuildScripts, "{docker-,podman-,}compose*.{yml,yaml}", &["compose.yaml", "docker-compose.yml", "docker-compose.override.yml"]).because(IMAGE),
    Row::new(BuildScripts, "docker-bake.{hcl,json}", &["docker-bake.hcl"]).because(IMAGE),
    Row::new(BuildScripts, "{build,workspace}{,.bazel}", &["BUILD.bazel", "src/BUILD", "WORKSPACE"]).because(BAZEL).but_not(&["workspace.md", "build.log"]),
    Row::new(BuildScripts, "{*.bzl,module.bazel,.bazelrc,.bazelversion,buck,.buckconfig}", &["defs.bzl", "MODULE.bazel", ".bazelrc"]).because(BAZEL),
    Row::new(BuildScripts, "{flake,shell,default}.nix", &["flake.nix", "shell.nix"]).because("is evaluated by Nix, which builds and enters what it says"),
    Row::new(BuildScripts, "*.{csproj,fsproj,vbproj,vcxproj,props,targets,proj}", &["a.csproj", "Directory.Build.props"]).because("is executed by MSBuild, an editor's included"),
    Row::new(BuildScripts, "*.xcodeproj/", &["a.xcodeproj/project.pbxproj"]).because("holds scripts that Xcode runs"),
    Row::new(BuildScripts, "*.pro", &["app.pro"]).because("is executed by qmake"),
    Row::new(BuildScripts, "{gruntfile,gulpfile,jakefile}*", &["Gruntfile.js", "gulpfile.mjs"]).because(TOOL),
    Row::new(BuildScripts, "*.{config,conf,setup}.{js,cjs,mjs,ts,cts,mts}", &["vite.config.ts", "jest.config.cjs", "karma.conf.js", "jest.setup.js"])
        .because(TOOL)
        .but_not(&["config.js", "src/configs.ts"]),
    Row::new(BuildScripts, ".{eslintrc,babelrc,prettierrc,stylelintrc,mocharc,nycrc,swcrc,postcssrc}*", &[".eslintrc.js", ".babelrc", ".mocharc.cjs"]).because(TOOL),
    Row::new(BuildScripts, "{.pylintrc,pylintrc,.rubocop.yml,.credo.exs,.formatter.exs,.clang-tidy,.golangci.yml,.golangci.yaml,.golangci.toml,.php-cs-fixer.php,.php-cs-fixer.dist.php,phpunit.xml,phpunit.xml.dist,mypy.ini,.mypy.ini,rector.php}", &[".pylintrc", ".rubocop.yml"]).because("can name code that a checker loads"),
    Row::new(BuildScripts, "ansible.cfg", &["ansible.cfg"]).because("is obeyed by ansible wherever it starts"),
    Row::new(BuildScripts, "*.{tf,tf.json}", &["main.tf"]).because("can run programs when Terraform plans"),
    Row::new(BuildScripts, "*.sbt", &["versions.sbt"]).because("is executed by sbt"),
    Row::new(BuildScripts, "{build-logic,.storybook,.ddev}/", &["build-logic/src/main/kotlin/a.kt", ".storybook/main.ts"]),
    Row::new(BuildScripts, "{nx,turbo,angular,nodemon,rush,cdk}.json", &["nx.json", "angular.json"])
        .because("holds commands that the tool runs")
        .but_not(&["data.json"]),
    Row::new(BuildScripts, "{docs/conf.py,mkdocs.yml,mkdocs.yaml,.latexmkrc,latexmkrc,magefile.go,.air.toml,.lando.yml,.coveragerc,.flake8}", &["docs/conf.py", ".latexmkrc", "magefile.go"]).because(TOOL),
    Row::new(BuildScripts, "{*.tofu,terragrunt.hcl,helmfile.yaml,devspace.yaml}", &["main.tofu", "terragrunt.hcl"]).because("can run programs when it is planned"),
];
