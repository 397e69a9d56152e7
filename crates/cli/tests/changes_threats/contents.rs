//! Secrets that would come home with the changes, where a quick search would not see them.

use super::*;

/// Put together here, so that this file holds none itself.
fn token() -> String {
    ["gh", "p_x7Q2mB9vT4kL8nR1wZ5cY3dF6gH0jS2pA4eU"].concat()
}

#[track_caller]
fn found(env: &TestEnv, path: &str, words: &str) {
    let entry = judged(env, path);
    let blocks = entry["blocks"].to_string();
    assert!(blocks.contains(words), "{words} in {entry}");
    assert!(!env.run(["gate"]).stdout_text().contains("a GitHub token: gh"));
}

#[test]
fn in_wide_letters_far_down_in_names_and_in_targets() {
    both(|env| {
        let token = token();
        stage(
            env,
            &format!(
                "printf 'a\\nkey = {token}\\n' > plain; \
                 printf 'a\\nkey = {token}\\n' | iconv -t UTF-16LE > little; \
                 printf 'a\\nkey = {token}\\n' | iconv -t UTF-16BE > big; \
                 head -c 9000000 /dev/zero | tr '\\0' '\\n' > far; echo 'key = {token}' >> far; \
                 echo x > note-{token}; ln -s nowhere-{token} link; echo fine > fine"
            ),
        );
        for path in ["plain", "little", "big"] {
            found(env, path, "a GitHub token in line 2");
        }
        found(env, "far", "a GitHub token in line 9000001");
        found(env, &format!("note-{token}"), "a GitHub token in its name");
        found(env, "link", "a GitHub token in where it leads");
        assert_eq!(judged(env, "fine")["blocks"], serde_json::json!([]));
        refused(env, &[]);
        env.run(["apply", "fine"]).assert_exit(0);
        assert_eq!(names(env), ["fine"]);
        env.run(["apply", "--allow-class", "secret", "--allow-class", "escaping-symlink"])
            .assert_exit(0);
        assert_eq!(names(env).len(), 7);
    });
}

#[test]
fn what_is_not_searched_is_said_so() {
    let env = env();
    stage(&env, "truncate -s 17M long; truncate -s 1M short");
    let said = judged(&env, "long")["reasons"].to_string();
    assert!(said.contains("only its first 16 MiB are searched for secrets"), "{said}");
    assert!(!judged(&env, "short")["reasons"].to_string().contains("searched"));
}
