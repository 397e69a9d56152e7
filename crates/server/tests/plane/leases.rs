//! A runner that is silent loses what it holds.

use std::time::Duration;

use cofferdam_core::control::fence::MOST_NOTED;
use cofferdam_core::control::id::TokenId;
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::report::{Heartbeat, Held, Registration, ReportedStatus, Taken};
use cofferdam_core::control::token::{NewToken, Scope};
use cofferdam_server::plane::{Caller, EventFilter};
use serde_json::json;

use crate::desk::Desk;

pub(crate) async fn what_a_silent_runner_held_is_lost_and_its_late_word_changes_nothing(
    desk: Desk,
) {
    let (gone, there) = (desk.runner("gone").await, desk.runner("there").await);
    let retry = json!({"max_attempts": 2, "on": ["lost"]});
    let task = desk.submit(json!({"retry": retry})).await;
    let first = gone.claim(&desk, 1).await.remove(0);
    gone.report(&desk, &first, 0, ReportedStatus::Running).await;
    desk.clock.advance(Duration::from_secs(31));
    desk.plane.tick().await.unwrap();
    assert_eq!(desk.state(&task).await, "queued");
    let second = there.claim(&desk, 1).await.remove(0);
    assert_eq!(second.attempt, 2);
    let late = gone.report(&desk, &first, 1, ReportedStatus::Succeeded).await;
    assert_eq!(late.taken, Taken::Stale);
    // Another runner's token with the right fence is still another runner.
    let forged = gone.report(&desk, &second, 0, ReportedStatus::Succeeded).await;
    assert_eq!(forged.taken, Taken::Stale);
    assert_eq!(desk.state(&task).await, "claimed");
    let beat = Heartbeat {
        runner: gone.registered.runner,
        holding: vec![Held { task: task.id, attempt: 1 }],
        draining: false,
        leaving: false,
        wait_ms: 0,
    };
    let answer = desk.plane.heartbeat(&gone.caller, beat.clone()).await.unwrap();
    assert_eq!(answer.drop, beat.holding);
    there.report(&desk, &second, 0, ReportedStatus::Succeeded).await;
    assert_eq!(desk.state(&task).await, "succeeded");
    let refused = desk.kinds(&task).await.iter().filter(|k| *k == "runner.report_refused").count();
    assert_eq!(refused, 2);
}

pub(crate) async fn what_changes_nothing_is_written_down_and_fills_nothing(mut desk: Desk) {
    let (runner, other) = (desk.runner("one").await, desk.runner("other").await);
    let task = desk.submit(json!({})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    runner.report(&desk, &claim, 1000, ReportedStatus::Running).await;
    let counted = async |desk: &Desk, kind: &str| {
        desk.kinds(&task).await.iter().filter(|known| *known == kind).count()
    };
    let (repeated, refused) = ("runner.report_repeated", "runner.report_refused");
    for _ in 0..3 {
        let again = runner.report(&desk, &claim, 1000, ReportedStatus::Running).await;
        assert_eq!(again.taken, Taken::Repeated);
    }
    assert_eq!(counted(&desk, repeated).await, 1, "the same number is written down once");
    desk.restart().await;
    runner.report(&desk, &claim, 1000, ReportedStatus::Running).await;
    assert_eq!(counted(&desk, repeated).await, 1, "whoever was started anew knows of it");
    // Numbers are the runner's to make up, and so are forged reports another's.
    for seq in 0..MOST_NOTED as u64 + 20 {
        runner.report(&desk, &claim, seq, ReportedStatus::Failed).await;
        other.report(&desk, &claim, seq, ReportedStatus::Failed).await;
    }
    assert_eq!(counted(&desk, repeated).await, MOST_NOTED);
    assert_eq!(counted(&desk, refused).await, MOST_NOTED);
    let filter = EventFilter { task: Some(task.id), ..EventFilter::default() };
    let paging = Paging { limit: 500, after: None };
    let events = desk.plane.events(&desk.admin, &filter, &paging).await.unwrap().items;
    let said: Vec<&str> =
        events.iter().filter(|e| !e.data["last"].is_null()).map(|e| e.kind.as_str()).collect();
    assert_eq!(said, [repeated, refused], "the last of each says that more are left out");
    assert_eq!(desk.state(&task).await, "running");
    let end = runner.report(&desk, &claim, 1001, ReportedStatus::Succeeded).await;
    assert_eq!(end.taken, Taken::Accepted);
    desk.holds().await;
}

pub(crate) async fn a_claim_whose_answer_was_lost_goes_back_into_the_queue(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let lost = runner.claim(&desk, 1).await;
    assert_eq!(lost.len(), 1);
    for _ in 0..4 {
        desk.pass(Duration::from_secs(10)).await;
        let beat = Heartbeat {
            runner: runner.registered.runner,
            holding: vec![],
            draining: false,
            leaving: false,
            wait_ms: 0,
        };
        desk.plane.heartbeat(&runner.caller, beat).await.unwrap();
    }
    assert_eq!(desk.state(&task).await, "queued", "its runner is well and does not have it");
    assert_eq!(runner.claim(&desk, 1).await.remove(0).attempt, 2);
}

pub(crate) async fn a_runner_that_is_started_anew_keeps_what_it_still_has(desk: Desk) {
    let runner = desk.runner("one").await;
    let (kept, gone, unstarted) =
        (desk.submit(json!({})).await, desk.submit(json!({})).await, desk.submit(json!({})).await);
    let claims = runner.claim(&desk, 3).await;
    for claim in claims.iter().filter(|claim| claim.task.id != unstarted.id) {
        runner.report(&desk, claim, 0, ReportedStatus::Running).await;
    }
    let held = Held { task: kept.id, attempt: 1 };
    let foreign = Held { task: kept.id, attempt: 7 };
    let asked = Registration {
        name: "one".into(),
        labels: vec![],
        capacity: 10,
        host: None,
        holding: vec![held, foreign],
        removed: vec![],
    };
    let again = desk.plane.register(&runner.caller, asked.clone()).await.unwrap();
    assert_eq!(again.runner, runner.registered.runner, "the same name is the same runner");
    assert_eq!(again.drop, [foreign]);
    assert_eq!(desk.state(&kept).await, "running");
    assert_eq!(desk.state(&gone).await, "lost");
    assert_eq!(desk.state(&unstarted).await, "queued");
    let other = desk.caller("other", &[Scope::Runner]).await;
    let refused = desk.plane.register(&other, asked).await.unwrap_err();
    assert_eq!(refused.problem().status, 409, "a name belongs to a token");
}

pub(crate) async fn a_restart_gives_runners_their_time_again(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    desk.clock.advance(Duration::from_secs(29));
    desk.restart().await;
    desk.pass(Duration::from_secs(20)).await;
    assert_eq!(desk.state(&task).await, "claimed");
    runner.report(&desk, &claim, 0, ReportedStatus::Succeeded).await;
    assert_eq!(desk.state(&task).await, "succeeded");
}

pub(crate) async fn a_name_passes_on_once_its_token_has_ended(desk: Desk) {
    let first = desk.runner("one").await;
    let other = desk.caller("two", &[Scope::Runner]).await;
    let asked = |name: &str| Registration {
        name: name.into(),
        labels: vec![],
        capacity: 1,
        host: None,
        holding: vec![],
        removed: vec![],
    };
    let early = desk.plane.register(&other, asked("one")).await.unwrap_err();
    assert_eq!(early.problem().status, 409);
    let task = desk.submit(json!({})).await;
    let claim = first.claim(&desk, 1).await.remove(0);
    first.report(&desk, &claim, 0, ReportedStatus::Running).await;
    desk.plane.revoke_token(&desk.admin, first.caller.token).await.unwrap();
    let second = desk.plane.register(&other, asked("one")).await.unwrap();
    assert_eq!(second.runner, first.registered.runner, "what lies with it is still found");
    assert_eq!(desk.state(&task).await, "lost", "it does not have what the other held");
    let filter = EventFilter { kind: Some("runner.passed_on".into()), ..Default::default() };
    let told = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap();
    assert_eq!(told.items[0].data["runner"], json!(second.runner));
    let late = Heartbeat {
        runner: second.runner,
        holding: vec![],
        draining: false,
        leaving: false,
        wait_ms: 0,
    };
    desk.plane.heartbeat(&first.caller, late.clone()).await.unwrap_err();
    desk.plane.heartbeat(&other, late).await.unwrap();

    // The runner inside a server has no token that was made.
    let inside = Caller {
        actor: "server".into(),
        token: TokenId::from_parts(0, 0),
        scopes: vec![Scope::Runner],
        projects: None,
    };
    desk.plane.register(&inside, asked("inside")).await.unwrap();
    desk.plane.register(&other, asked("inside")).await.unwrap_err();

    // An end that was set beforehand is one, too, and it holds after a restart.
    let until = NewToken {
        name: "short".into(),
        scopes: vec![Scope::Runner],
        projects: None,
        expires_at: Some(serde_json::from_value(json!("2027-01-15T08:05:00Z")).unwrap()),
    };
    let made = desk.plane.make_token(&desk.admin, until, None).await.unwrap();
    let short = desk.plane.caller(&made.secret).unwrap();
    desk.plane.register(&short, asked("brief")).await.unwrap();
    desk.plane.register(&other, asked("brief")).await.unwrap_err();
    desk.pass(Duration::from_secs(600)).await;
    desk.plane.register(&other, asked("brief")).await.unwrap();
    let mut desk = desk;
    desk.restart().await;
    desk.plane.register(&other, asked("brief")).await.unwrap();
    desk.holds().await;
}

pub(crate) async fn a_token_has_so_many_runners_and_each_says_so_much(mut desk: Desk) {
    let caller = desk.caller("bound", &[Scope::Runner]).await;
    let asked = |name: &str| Registration {
        name: name.into(),
        labels: vec![],
        capacity: 1,
        host: Some(json!({"x": "y".repeat(60_000)})),
        holding: vec![],
        removed: vec![],
    };
    let task = desk.submit(json!({})).await;
    let held = Held { task: task.id, attempt: 1 };
    let large = json!({"x": vec![1; 450_000]});
    for (field, wrong) in [
        ("host", Registration { host: Some(large), ..asked("r") }),
        ("holding", Registration { holding: vec![held; 5000], ..asked("r") }),
        ("labels", Registration { labels: vec!["a".into(); 257], ..asked("r") }),
    ] {
        let problem = desk.plane.register(&caller, wrong).await.unwrap_err().problem();
        assert_eq!((problem.status, problem.field.as_deref()), (422, Some(field)));
    }
    let holding = vec![held; 100];
    desk.plane.register(&caller, Registration { holding, ..asked("r00") }).await.unwrap();
    let filter = EventFilter { kind: Some("runner.registered".into()), ..Default::default() };
    let told = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap().items;
    assert_eq!(told[0].data["held"], 100);
    assert_eq!(told[0].data["holding"].as_array().unwrap().len(), 50);

    for number in 1..64 {
        desk.plane.register(&caller, asked(&format!("r{number:02}"))).await.unwrap();
    }
    let one_more = desk.plane.register(&caller, asked("more")).await.unwrap_err().problem();
    assert_eq!(one_more.status, 409, "{one_more:?}");
    assert!(one_more.remedy.is_some());
    desk.plane.register(&caller, asked("r07")).await.expect("it has a place already");
    desk.runner("others").await;

    // The longest silent makes room, once that is long.
    let first = desk.plane.register(&caller, asked("r00")).await.unwrap().runner;
    desk.restart().await;
    let beat =
        |runner| Heartbeat { runner, holding: vec![], draining: false, leaving: false, wait_ms: 0 };
    desk.clock.advance(Duration::from_secs(23 * 3600));
    let early = desk.plane.register(&caller, asked("more")).await.unwrap_err().problem();
    assert_eq!(early.status, 409);
    desk.plane.heartbeat(&caller, beat(first)).await.unwrap();
    desk.clock.advance(Duration::from_secs(2 * 3600));
    desk.plane.register(&caller, asked("more")).await.unwrap();
    desk.plane.heartbeat(&caller, beat(first)).await.expect("it was heard of lately");
    let filter = EventFilter { kind: Some("runner.forgotten".into()), ..Default::default() };
    let told = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap().items;
    assert_eq!(told.len(), 1);

    // What each said is there, a page at a time, and after another start as well.
    desk.restart().await;
    let mut seen = Vec::new();
    let mut paging = Paging { limit: 40, after: None };
    loop {
        let page = desk.plane.runners(&desk.admin, &paging).await.unwrap();
        seen.extend(page.items);
        let Some(next) = page.next else { break };
        paging.after = Some(next);
    }
    assert_eq!(seen.len(), 65);
    assert!(seen.is_sorted_by_key(|runner| runner.name.clone()));
    let own = seen.iter().filter(|runner| runner.name != "others");
    assert!(own.into_iter().all(|runner| runner.host == asked("r").host));
    desk.holds().await;
}
