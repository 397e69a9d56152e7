//! What secrets look like.
//!
//! Every pattern is linear in what it reads (the crate has no backtracking), and is compared byte by byte.
//! Where a pattern has a group, the group is the value; the rest only shows where one stands.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// One kind of secret.
#[derive(Debug)]
pub struct Rule {
    /// In words, with its article.
    pub name: &'static str,
    pattern: &'static str,
    doubt: Doubt,
    /// Texts in which it finds something.
    pub examples: &'static [&'static str],
    /// Texts in which nothing is found.
    pub others: &'static [&'static str],
}

/// What else must hold for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// Its shape is enough.
    None,
    /// It must look random.
    Random,
    /// It must not be a word that stands for a password in examples.
    Placeholder,
}

/// Bits a byte. English words have less than 3.5 at these lengths, random letters and digits more.
const RANDOM: f64 = 3.5;

impl Rule {
    const fn new(
        name: &'static str,
        pattern: &'static str,
        examples: &'static [&'static str],
    ) -> Self {
        Self { name, pattern, doubt: Doubt::None, examples, others: &[] }
    }

    const fn doubting(mut self, doubt: Doubt) -> Self {
        self.doubt = doubt;
        self
    }

    const fn but_not(mut self, others: &'static [&'static str]) -> Self {
        self.others = others;
        self
    }

    /// The values that it finds, with their places.
    pub(super) fn values<'a>(
        &'static self,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = (usize, &'a [u8])> {
        let index = ALL.iter().position(|rule| std::ptr::eq(rule, self)).unwrap_or_default();
        COMPILED[index].captures_iter(bytes).filter_map(|found| {
            let value = found.get(1).or_else(|| found.get(0))?;
            self.believes(value.as_bytes()).then_some((value.start(), value.as_bytes()))
        })
    }

    fn believes(&self, value: &[u8]) -> bool {
        match self.doubt {
            Doubt::None => !has(value, b"EXAMPLE"),
            Doubt::Random => {
                let letters = value.iter().any(u8::is_ascii_alphabetic);
                let digits = value.iter().any(u8::is_ascii_digit);
                letters && digits && entropy(value) >= RANDOM && !is_placeholder(value)
            }
            Doubt::Placeholder => !is_placeholder(value),
        }
    }
}

fn has(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// What people write where a secret would stand.
fn is_placeholder(value: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"example",
        b"changeme",
        b"change-me",
        b"change_me",
        b"placeholder",
        b"your",
        b"xxxx",
        b"****",
        b"....",
        b"dummy",
        b"redacted",
        b"process.env",
        b"environ",
        b"getenv",
        b"secrets.",
    ];
    const WHOLE: &[&[u8]] = &[
        b"password",
        b"passwd",
        b"pass",
        b"pwd",
        b"secret",
        b"token",
        b"test",
        b"user",
        b"postgres",
        b"root",
        b"admin",
        b"guest",
        b"xxx",
        b"...",
    ];
    const STARTS: &[u8] = b"$<{%[*@";
    WORDS.iter().any(|word| has(value, word))
        || WHOLE.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.first().is_some_and(|first| STARTS.contains(first))
}

/// Shannon's, in bits a byte.
#[expect(clippy::cast_precision_loss, reason = "values are shorter than a kilobyte")]
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0usize; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: usize| count as f64 / value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| -share(*count) * share(*count).log2())
        .sum()
}

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |rule: &Rule| {
        let regex = RegexBuilder::new(rule.pattern).unicode(false).multi_line(true).build();
        regex.expect("a test compiles every pattern")
    };
    ALL.iter().map(compile).collect()
});

/// All rules, the particular before the general.
pub static ALL: &[Rule] = &[
    Rule::new(
        "a private key",
        r#"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[rn]|[\s"'+,])*(?:[A-Za-z0-9+/]{16}|Proc-Type:|Version:|Comment:)"#,
        &[
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n",
            r#""private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B""#,
        ],
    )
    .but_not(&[
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
        r#"if text.starts_with("-----BEGIN PRIVATE KEY-----") {"#,
    ]),
    Rule::new("a PuTTY private key", r"PuTTY-User-Key-File-[0-9]: ", &["PuTTY-User-Key-File-3: ssh-ed25519"]),
    Rule::new("an age key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}", &[concat!("AGE-SECRET-", "KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQS")]),
    Rule::new("an AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", &[concat!("id = AKIA", "Y34FZKBOKMUTVV7A")])
        .but_not(&[concat!("AKIA", "IOSFODNN7EXAMPLE"), "AKIAshort"]),
    Rule::new(
        "an AWS secret key",
        r#"(?i)aws[a-z0-9_ .-]{0,20}(?:secret|sk)[a-z0-9_ .-]{0,20}["']?\s*[:=]\s*["']?([a-z0-9/+]{40})\b"#,
        &[concat!("aws_secret_access_key = ", "kZr8Qw1N5tYp0LxVb3Jd7GmHc2Rf9SaUe4Ti6OqB")],
    )
    .doubting(Doubt::Random)
    .but_not(&["aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]),
    Rule::new("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36}", &[concat!("ghp_", "x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU")])
        .but_not(&["ghp_short", "ghx_x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU"]),
    Rule::new("a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{36}", &[concat!("github_", "pat_11ABCDEFG0aBcDeFgHiJkLmNoPqRsTuVwXyZ012")]),
    Rule::new("a GitLab token", r"\bgl(?:pat|ptt|dt|rt|soat|cbt|ft|imt|agent|oas)-[A-Za-z0-9_-]{20}", &[concat!("glpat", "-x7Q2mB9vT4kL8nR1wZ5c")])
        .but_not(&["glpat-short"]),
    Rule::new("a Slack token", r"\bxox[abeprs]-[A-Za-z0-9-]{16}|\bxapp-[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-", &[concat!("xoxb", "-123456789012-abcdefGHIJ")])
        .but_not(&["xoxo-hugs-and-kisses-forever"]),
    Rule::new("a Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]{6,12}/[AB][A-Z0-9]{6,12}/[A-Za-z0-9]{16}", &[concat!("https://hooks.slack", ".com/services/T0ABC1234/B0DEF5678/x7Q2mB9vT4kL8nR1wZ5cY3dF")])
        .but_not(&["https://hooks.slack.com/services/T…/B…/…"]),
    Rule::new("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}", &[concat!("AIza", "SyD4x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2")]),
    Rule::new("a Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}|\bya29\.[A-Za-z0-9_-]{32}", &[concat!("GOCSPX", "-x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0")]),
    Rule::new("a Stripe key", r"\b(?:sk|rk)_live_[A-Za-z0-9]{16}|\bwhsec_[A-Za-z0-9+/]{32}", &[concat!("sk_", "live_x7Q2mB9vT4kL8nR1wZ5c")])
        .but_not(&["sk_test_x7Q2mB9vT4kL8nR1wZ5c", "pk_live_x7Q2mB9vT4kL8nR1wZ5c"]),
    Rule::new("an Anthropic key", r"\bsk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{24}", &[concat!("sk-ant", "-api03-x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU")]),
    Rule::new("an OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{32,200}", &[concat!("sk-", "proj-x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU")])
        .doubting(Doubt::Random)
        .but_not(&["class=\"sk-loading-indicator-with-a-very-long-name\"", "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]),
    Rule::new("a Hugging Face token", r"\bhf_[A-Za-z]{34}\b", &[concat!("hf_", "xQmBvTkLnRwZcYdFgHjSpAeUxQmBvTkLnR")]),
    Rule::new("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b", &[concat!("npm_", "x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU")])
        .but_not(&["npm_config_registry", "npm_lifecycle_event"]),
    Rule::new("a registry token", r#"(?i):_(?:authtoken|password)\s*=\s*"?([^\s"$]{16,200})"#, &[concat!("//registry.test/:_auth", "Token=7d1c9f02-4b6e-4a55-9d0e-1f2a3b4c5d6e")])
        .doubting(Doubt::Placeholder)
        .but_not(&["//registry.test/:_authToken=${NPM_TOKEN}"]),
    Rule::new("a PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{32}", &[concat!("pypi", "-AgEIcHlwaS5vcmcCJDdkMWM5ZjAyLTRiNmUtNGE1NS05ZDBl")]),
    Rule::new("a crates.io token", r"\bcio[A-Za-z0-9]{32}\b", &[concat!("ci", "ox7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2p")]).doubting(Doubt::Random),
    Rule::new("a Docker token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{24}", &[concat!("dckr_", "pat_x7Q2mB9vT4kL8nR1wZ5cY3dF")]),
    Rule::new("a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", &[concat!("SG", ".x7Q2mB9vT4kL8nR1wZ5cY3.x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eUx7Q2mB9")]),
    Rule::new("a DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b", &[concat!("dop_", "v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]),
    Rule::new("a Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24}", &[concat!("hvs", ".CAESIx7Q2mB9vT4kL8nR1wZ5")]),
    Rule::new("a Telegram bot token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", &[concat!("123456789", ":AAx7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA")]),
    Rule::new("an Azure storage key", r"(?i)AccountKey=([A-Za-z0-9+/]{86}==)", &[concat!("Account", "Key=x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eUx7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eUx7Q2mB9vT4kL8n==")]),
    Rule::new("a JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}", &[concat!("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P")])
        .but_not(&["eyJhbGciOiJIUzI1NiJ9", "eyJ.eyJ.x"]),
    Rule::new(
        "a URL with a password",
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'<>`]{0,64}:([^\s/@"'<>`]{3,128})@[A-Za-z0-9.\[]"#,
        &["postgres://app:k7Qz2mB9@db.internal/app", "https://bot:s3cr3t-v4lue@git.test/x.git", "redis://:k7Qz2mB9vT@cache:6379"],
    )
    .doubting(Doubt::Placeholder)
    .but_not(&[
        "postgres://user:password@localhost/db",
        "https://$USER:$PASS@host",
        "https://host:443/path@x",
        "https://example.test/a:b@c",
        "http://user:${PASSWORD}@host",
    ]),
    Rule::new(
        "a quoted password or token",
        r#"(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|credential)[a-z0-9_-]{0,20}["']?\s*(?::=|=>|[:=])\s*["'`]([^\s"'`(){}<>]{12,200})["'`]"#,
        &[
            "password = \"k7Qz2mB9vT4kL8nR\"",
            "'api_key': 'k7Qz2mB9vT4kL8nR'",
            "API_TOKEN: \"k7Qz2mB9vT4kL8nR\"",
            "const clientSecret = `k7Qz2mB9vT4kL8nR`",
        ],
    )
    .doubting(Doubt::Random)
    .but_not(&[
        "password = \"correcthorsebattery\"",
        "token = \"aaaaaaaaaaaa1\"",
        "password = os.environ[\"DB_PASSWORD_2024\"]",
        "secret: \"${{ secrets.DEPLOY_KEY_2024_a8f }}\"",
        "token: \"your-token-goes-here-123\"",
        "let token = \"user.session.token_v2\"",
    ]),
    Rule::new(
        "a password or token in an assignment",
        r#"(?i)^[ \t]*(?:export[ \t]+|set[ \t]+|-[ \t]+)?[a-z0-9_.-]{0,40}(?:password|passwd|secret|token|api_?key|access_?key|private_?key)[a-z0-9_.-]{0,20}[ \t]{0,4}(?:=|:[ \t])[ \t]{0,4}([^\s"'`#(){}<>;,]{12,200})[ \t]*\r?$"#,
        &["DB_PASSWORD=k7Qz2mB9vT4kL8nR", "export API_TOKEN=k7Qz2mB9vT4kL8nR", "  client_secret: k7Qz2mB9vT4kL8nR"],
    )
    .doubting(Doubt::Random)
    .but_not(&[
        "DB_PASSWORD=changeme-please-2024-now",
        "token = parser.next_token()",
        "API_TOKEN=$OTHER_TOKEN_2024_abc",
        "let token: Option<Token2024> = None",
    ]),
];
