//! What runs in CI.

use super::Class::Ci;
use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(Ci, ".github/workflows/", &[".github/workflows/ci.yml", ".Github/Workflows/x.yaml", "sub/.github/workflows"])
        .because("is a workflow that GitHub runs, with the repository's secrets")
        .but_not(&[".github/issue_template.md", "github/workflows/x.yml"]),
    Row::new(Ci, ".github/actions/", &[".github/actions/setup/action.yml"]),
    Row::new(Ci, ".github/dependabot.{yml,yaml}", &[".github/dependabot.yml"]),
    Row::new(Ci, "action.{yml,yaml}", &["action.yml"]).but_not(&["actions.yml", "action.rs"]),
    Row::new(Ci, "codeowners", &["CODEOWNERS", ".github/CODEOWNERS"])
        .because("decides whose review a change needs"),
    Row::new(Ci, "{.gitea,.forgejo}/workflows/", &[".gitea/workflows/a.yml"]),
    Row::new(Ci, "{*,}.gitlab-ci.{yml,yaml}", &[".gitlab-ci.yml", "jobs/build.gitlab-ci.yml"])
        .but_not(&["gitlab.md"]),
    Row::new(Ci, ".gitlab/", &[".gitlab/ci/build.yml"]),
    Row::new(Ci, "jenkinsfile*", &["Jenkinsfile", "Jenkinsfile.release"]),
    Row::new(Ci, "*.jenkinsfile", &["ci/deploy.Jenkinsfile"]),
    Row::new(Ci, "{.circleci,.buildkite,.semaphore,.teamcity,.tekton,.builds,.woodpecker,.azuredevops,.azure-pipelines,.harness}/", &[".circleci/config.yml", ".buildkite/pipeline.yml", ".builds/a.yml"])
        .but_not(&["circleci/x"]),
    Row::new(Ci, "{.,}azure-pipelines*.{yml,yaml}", &["azure-pipelines.yml", "azure-pipelines-release.yaml"]),
    Row::new(Ci, "{.travis,.cirrus,.drone,.woodpecker,.build,.appveyor,appveyor,bitbucket-pipelines,cloudbuild,buildspec,codefresh,wercker,.mergify,screwdriver,.zuul,zuul,.prow}.{yml,yaml}", &[".travis.yml", "appveyor.yml", "bitbucket-pipelines.yml", ".drone.yml", "cloudbuild.yaml"])
        .but_not(&["build.yml", "travis.yml"]),
    Row::new(Ci, "{.drone.star,.cirrus.star,.drone.jsonnet}", &[".drone.star"]),
    Row::new(Ci, "{netlify.toml,vercel.json,dagger.json}", &["netlify.toml", "vercel.json"])
        .because("is a build that a hosting service runs"),
    Row::new(Ci, "{renovate.json,renovate.json5,.renovaterc,.renovaterc.json}", &["renovate.json", ".renovaterc"]),
    Row::new(Ci, "{.readthedocs,.goreleaser,.release-it,bitrise,codemagic,.evergreen,serverless,amplify}.{yml,yaml,json}", &[".readthedocs.yaml", ".goreleaser.yml", "serverless.yml"])
        .because("is a build or release that a service runs"),
    Row::new(Ci, "{wrangler.toml,wrangler.json,wrangler.jsonc,firebase.json,.releaserc*}", &["wrangler.toml", ".releaserc.json"])
        .because("is a build or release that a service runs"),
    Row::new(Ci, "{bamboo-specs,.pipelines}/", &["bamboo-specs/bamboo.yml"]),
];
