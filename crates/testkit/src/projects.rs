//! Small projects of the shapes that real ones have: what `cofferdam init` is held against, and what is built
//! and tested in an engine where the base can be made here.

use crate::TestEnv;

#[derive(Debug, Clone, Copy)]
pub struct Project {
    pub name: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    /// What it is found to be: language, version, tool, system.
    pub is: &'static [[&'static str; 4]],
    /// How its own tests are run, where its image can be built from what Debian has.
    pub test: Option<&'static str>,
}

impl Project {
    pub fn named(name: &str) -> Self {
        let found = PROJECTS.iter().find(|project| project.name == name);
        *found.unwrap_or_else(|| panic!("no project {name}"))
    }

    /// Puts its files into a workspace.
    pub fn lay_out(&self, env: &TestEnv) {
        for (path, text) in self.files {
            env.file(path, text);
        }
    }
}

const GO_SUM: (&str, &str) = ("sum.go", "package sum\n\nfunc Sum(a, b int) int { return a + b }\n");
const GO_TEST: (&str, &str) = (
    "sum_test.go",
    "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 3) != 5 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
);
const NODE_TEST: (&str, &str) = (
    "sum.test.js",
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst sum = require('./sum.js');\ntest('sum', () => assert.strictEqual(sum(2, 3), 5));\n",
);
const NODE_SUM: (&str, &str) = ("sum.js", "module.exports = (a, b) => a + b;\n");
const NODE_LOCK: (&str, &str) = (
    "package-lock.json",
    "{\"name\":\"sum\",\"version\":\"1.0.0\",\"lockfileVersion\":3,\"requires\":true,\"packages\":{\"\":{\"name\":\"sum\",\"version\":\"1.0.0\"}}}\n",
);
const PYTHON_TEST: (&str, &str) = (
    "test_total.py",
    "import unittest\n\nfrom total import total\n\n\nclass Total(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total(2, 3), 5)\n",
);
const PYTHON_TOTAL: (&str, &str) = ("total.py", "def total(a, b):\n    return a + b\n");

pub const PROJECTS: &[Project] = &[
    Project {
        name: "go",
        files: &[("go.mod", "module example.com/sum\n\ngo 1.19\n"), GO_SUM, GO_TEST],
        is: &[["go", "1.19", "go", "alpine"]],
        test: Some("go test ./..."),
    },
    Project {
        name: "go-toolchain",
        files: &[
            (
                "go.mod",
                "module example.com/sum\n\ngo 1.21\n\ntoolchain go1.22.3\n\nrequire github.com/mattn/go-sqlite3 v1.14.22\n",
            ),
            ("go.sum", ""),
        ],
        is: &[["go", "1.22.3", "go", "debian"]],
        test: None,
    },
    Project {
        name: "go-cgo",
        files: &[
            ("go.mod", "module example.com/sum\n\ngo 1.19\n"),
            (
                "c.go",
                "package sum\n\n// int two() { return 2; }\nimport \"C\"\n\nfunc Two() int { return int(C.two()) }\n",
            ),
            (
                "c_test.go",
                "package sum\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
            ),
        ],
        is: &[["go", "1.19", "go", "debian"]],
        test: Some("go test ./..."),
    },
    Project {
        name: "node-npm",
        files: &[
            (
                "package.json",
                "{\"name\":\"sum\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node --test\"}}\n",
            ),
            NODE_LOCK,
            (".nvmrc", "lts/hydrogen\n"),
            NODE_SUM,
            NODE_TEST,
        ],
        is: &[["node", "18.20", "npm", "alpine"]],
        test: Some("npm test"),
    },
    Project {
        name: "node-several",
        files: &[
            ("README.md", "two that have nothing in common\n"),
            (".nvmrc", "lts/hydrogen\n"),
            // What an installation puts there, made without a registry.
            (
                "api/package.json",
                "{\"name\":\"api\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node --test\",\"postinstall\":\"mkdir -p node_modules/plus && echo 'module.exports = (a, b) => a + b;' > node_modules/plus/index.js\"}}\n",
            ),
            ("api/sum.js", "module.exports = require('plus');\n"),
            ("api/sum.test.js", NODE_TEST.1),
            (
                "web/package.json",
                "{\"name\":\"web\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node --test\",\"postinstall\":\"mkdir -p node_modules/@math/sum node_modules/zero && echo 'module.exports = (a, b) => require(\\\"zero\\\") + a + b;' > node_modules/@math/sum/index.js && echo 'module.exports = 0;' > node_modules/zero/index.js\"}}\n",
            ),
            ("web/sum.js", "module.exports = require('@math/sum');\n"),
            ("web/sum.test.js", NODE_TEST.1),
        ],
        is: &[["node", "18.20", "npm", "alpine"]],
        test: Some("cd api && npm test && cd ../web && npm test"),
    },
    Project {
        name: "node-pnpm",
        files: &[
            (
                "package.json",
                "{\"name\":\"a\",\"packageManager\":\"pnpm@9.1.4+sha256.abc\",\"engines\":{\"node\":\">=18 <21\"},\"dependencies\":{\"sharp\":\"^0.33\"}}\n",
            ),
            ("pnpm-lock.yaml", "lockfileVersion: '9.0'\n"),
            ("pnpm-workspace.yaml", "packages: ['packages/*']\n"),
            ("packages/b/package.json", "{\"name\":\"b\"}\n"),
        ],
        is: &[["node", "20.19", "pnpm", "debian"]],
        test: None,
    },
    Project {
        name: "node-yarn",
        files: &[
            ("package.json", "{\"name\":\"a\"}\n"),
            ("yarn.lock", "# yarn lockfile v1\n"),
            (".node-version", "v20.11.1\n"),
        ],
        is: &[["node", "20.11.1", "yarn", "alpine"]],
        test: None,
    },
    Project {
        name: "node-bun",
        files: &[
            ("package.json", "{\"name\":\"a\",\"packageManager\":\"bun@1.1.38\"}\n"),
            ("bun.lock", "{}\n"),
        ],
        is: &[["node", "22.20", "bun", "alpine"]],
        test: None,
    },
    Project {
        name: "python-pip",
        files: &[
            ("requirements.txt", "# nothing yet\n"),
            (".python-version", "3.11\n"),
            PYTHON_TOTAL,
            PYTHON_TEST,
        ],
        is: &[["python", "3.11", "pip", "alpine"]],
        test: Some("python -m unittest"),
    },
    Project {
        name: "python-pyproject",
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"total\"\nversion = \"1\"\nrequires-python = \">=3.9,<3.12\"\ndependencies = []\n[project.optional-dependencies]\ndev = []\n",
            ),
            PYTHON_TOTAL,
            PYTHON_TEST,
        ],
        is: &[["python", "3.11", "pip", "debian"]],
        test: Some("python -m unittest"),
    },
    Project {
        name: "python-poetry",
        files: &[
            (
                "pyproject.toml",
                "[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\npython = \"^3.10\"\nrequests = \"^2\"\n",
            ),
            (
                "poetry.lock",
                "# This file is automatically @generated by Poetry 1.8.2 and should not be changed by hand.\n",
            ),
        ],
        is: &[["python", "3.13", "poetry", "debian"]],
        test: None,
    },
    Project {
        name: "python-uv",
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"a\"\nrequires-python = \"~=3.12.0\"\ndependencies = [\"httpx\"]\n",
            ),
            ("uv.lock", "version = 1\n"),
        ],
        is: &[["python", "3.12", "uv", "debian"]],
        test: None,
    },
    Project {
        name: "rust",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\nrust-version = \"1.60\"\n",
            ),
            (
                "Cargo.lock",
                "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 3\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n",
            ),
            ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.63.0\"\n"),
            (
                "src/lib.rs",
                "pub fn sum(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(sum(2, 3), 5);\n}\n",
            ),
        ],
        is: &[["rust", "1.63.0", "cargo", "debian"]],
        test: Some("cargo test"),
    },
    Project {
        name: "rust-workspace",
        files: &[
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/a\", \"crates/b\"]\n"),
            ("rust-toolchain", "1.63\n"),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nb = { path = \"../b\" }\n",
            ),
            ("crates/a/src/lib.rs", "#[test]\nfn adds() {\n    assert_eq!(b::one(), 1);\n}\n"),
            (
                "crates/b/Cargo.toml",
                "[package]\nname = \"b\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("crates/b/src/lib.rs", "pub fn one() -> i32 {\n    1\n}\n"),
        ],
        is: &[["rust", "1.63", "cargo", "debian"]],
        test: Some("cargo test"),
    },
    Project {
        name: "java-maven",
        files: &[(
            "pom.xml",
            "<project><properties><maven.compiler.release>17</maven.compiler.release></properties></project>\n",
        )],
        is: &[["java", "17", "maven", "debian"]],
        test: None,
    },
    Project {
        name: "java-gradle",
        files: &[
            (
                "build.gradle.kts",
                "java { toolchain { languageVersion = JavaLanguageVersion.of(21) } }\n",
            ),
            ("settings.gradle.kts", "rootProject.name = \"a\"\n"),
            (
                "gradle/wrapper/gradle-wrapper.properties",
                "distributionUrl=https\\://services.example.com/distributions/gradle-8.10.2-bin.zip\n",
            ),
        ],
        is: &[["java", "21", "gradle", "debian"]],
        test: None,
    },
    Project {
        name: "ruby",
        files: &[
            ("Gemfile", "source 'https://gems.example.com'\nruby '3.2.2'\ngem 'rake'\n"),
            ("Gemfile.lock", "GEM\n  specs:\n    rake (13.0)\n"),
        ],
        is: &[["ruby", "3.2.2", "bundler", "alpine"]],
        test: None,
    },
    Project {
        name: "ruby-native",
        files: &[("Gemfile", "gem 'nokogiri'\n"), (".ruby-version", "ruby-3.3.1\n")],
        is: &[["ruby", "3.3.1", "bundler", "debian"]],
        test: None,
    },
    Project {
        name: "go-and-node",
        files: &[
            ("go.mod", "module example.com/sum\n\ngo 1.19\n"),
            GO_SUM,
            GO_TEST,
            (
                "web/package.json",
                "{\"name\":\"sum\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node --test\"}}\n",
            ),
            ("web/sum.js", NODE_SUM.1),
            ("web/sum.test.js", NODE_TEST.1),
            (".tool-versions", "nodejs 18.20.4\nterraform 1.9.0\n"),
        ],
        is: &[["node", "18.20.4", "npm", "debian"], ["go", "1.19", "go", "debian"]],
        test: Some("go test ./... && cd web && npm test"),
    },
    Project {
        name: "monorepo",
        files: &[
            ("README.md", "no manifest at the root\n"),
            (
                "services/api/pyproject.toml",
                "[project]\nname = \"api\"\nversion = \"1\"\ndependencies = []\n",
            ),
            ("services/worker/go.mod", "module example.com/worker\n\ngo 1.19\n"),
            ("services/worker/sum.go", GO_SUM.1),
            ("services/worker/sum_test.go", GO_TEST.1),
            ("services/api/total.py", PYTHON_TOTAL.1),
            ("services/api/test_total.py", PYTHON_TEST.1),
            ("mise.toml", "[tools]\npython = \"3.11\"\n"),
            ("node_modules/x/package.json", "{}\n"),
        ],
        is: &[["python", "3.11", "pip", "debian"], ["go", "1.19", "go", "debian"]],
        test: Some(
            "(cd services/worker && go test ./...) && cd services/api && python -m unittest",
        ),
    },
];
