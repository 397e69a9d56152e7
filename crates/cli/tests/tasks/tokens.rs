//! Tokens that count for a while.

use cofferdam_testkit::{TestEnv, wait_until};

use crate::place::{BINARY, PATIENCE, Place};

#[test]
fn a_token_counts_until_its_time_is_over() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::with(&env, None, &["--no-runner"]);
    let made = |name: &str, span: &str| {
        let words = ["token", "create", name, "--scope", "review", "--expires", span];
        let made = place.run(&words);
        made.assert_exit(0);
        made.stdout_text().trim().to_owned()
    };
    let asks = |token: &str| {
        let mut command = place.cofferdam();
        command.args(["task", "ls"]).env("COFFERDAM_TOKEN", token);
        env.finish(command)
    };
    let (long, short) = (made("long", "1h"), made("short", "1s"));
    assert!(wait_until(PATIENCE, || asks(&short).stderr_text().contains("token")), "it ends");
    asks(&short).assert_exit(1);
    asks(&long).assert_exit(0);
    let listed = place.run(&["token", "ls"]).stdout_text().into_owned();
    let line = |name: &str| listed.lines().find(|line| line.contains(name)).unwrap();
    assert!(line(" short ").contains("expired"), "{listed}");
    assert!(line(" long ").contains("good until 20"), "{listed}");
    for span in ["nonsense", "0s", "200000000d"] {
        let words = ["token", "create", "x", "--scope", "review", "--expires", span];
        place.run(&words).assert_exit(2);
    }
}
