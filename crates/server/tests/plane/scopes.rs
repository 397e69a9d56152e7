//! Who may what, and who may know of what.

use std::time::Duration;

use cofferdam_core::control::id::{ProjectId, TaskId};
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::project::NewProject;
use cofferdam_core::control::report::{ClaimAsk, LogChunk, ReportedStatus, StatusReport, Stream};
use cofferdam_core::control::task::AttemptResult;
use cofferdam_core::control::token::{NewToken, Scope};
use cofferdam_server::plane::{EventFilter, NewArtifact, TaskFilter};
use cofferdam_server::store::Database;
use serde_json::json;

use crate::desk::{Desk, task};

pub(crate) async fn nobody_learns_of_what_is_not_theirs(desk: Desk) {
    let (own, other) = (desk.project("own").await, desk.project("other").await);
    let mine = desk.submit(json!({"project": own.id})).await;
    let theirs = desk.submit(json!({"project": other.id})).await;
    let free = desk.submit(json!({})).await;
    let caller = desk.caller_of("team", &[Scope::Submit, Scope::Review], Some(vec![own.id])).await;
    assert_eq!(desk.plane.task(&caller, mine.id).await.unwrap().id, mine.id);
    let unknown = TaskId::from_parts(5, 5);
    let words = |error: cofferdam_server::plane::PlaneError| {
        let problem = error.problem();
        (problem.status, problem.detail, problem.kind)
    };
    let none = words(desk.plane.task(&caller, unknown).await.unwrap_err());
    for hidden in [theirs.id, free.id] {
        assert_eq!(words(desk.plane.task(&caller, hidden).await.unwrap_err()), none);
        assert_eq!(words(desk.plane.cancel(&caller, hidden).await.unwrap_err()), none);
        assert_eq!(words(desk.plane.audit(&caller, hidden).await.unwrap_err()), none);
        assert_eq!(words(desk.plane.logs(&caller, hidden, None, None, 5).await.unwrap_err()), none);
        assert_eq!(
            words(desk.plane.apply(&caller, hidden, Default::default()).await.unwrap_err()),
            none
        );
    }
    let no_project =
        words(desk.plane.project(&caller, ProjectId::from_parts(5, 5)).await.unwrap_err());
    assert_eq!(words(desk.plane.project(&caller, other.id).await.unwrap_err()), no_project);
    let into = |project: ProjectId| {
        desk.plane.create_task(&caller, task(json!({"project": project})), None)
    };
    let refused = words(into(other.id).await.unwrap_err());
    assert_eq!(words(into(ProjectId::from_parts(5, 5)).await.unwrap_err()), refused);
    assert_eq!(refused.0, 422);
    let none_at_all = desk.plane.create_task(&caller, task(json!({})), None).await;
    assert_eq!(none_at_all.unwrap_err().problem().field.as_deref(), Some("project"));
    let all = desk.plane.tasks(&caller, &TaskFilter::default(), &Paging::default()).await.unwrap();
    assert_eq!(all.items.iter().map(|task| task.id).collect::<Vec<_>>(), [mine.id]);
    let events =
        desk.plane.events(&caller, &EventFilter::default(), &Paging::default()).await.unwrap();
    assert!(events.items.iter().all(|event| event.project == Some(own.id)), "{events:?}");
    assert!(!events.items.is_empty());
    assert_eq!(desk.plane.overview(&caller).await.unwrap().tasks.values().sum::<u64>(), 1);
    let runs_for_own = desk.caller_of("theirs", &[Scope::Runner], Some(vec![own.id])).await;
    let runner = desk.register(&runs_for_own, "theirs").await;
    let ask = ClaimAsk { runner: runner.runner, room: 10, wait_ms: 0 };
    let claims = desk.plane.claim(&runs_for_own, ask).await.unwrap().claims;
    assert_eq!(claims.iter().map(|claim| claim.task.id).collect::<Vec<_>>(), [mine.id]);
}

pub(crate) async fn each_scope_does_its_own_and_no_more(desk: Desk) {
    let submit = desk.caller("submit", &[Scope::Submit]).await;
    let review = desk.caller("review", &[Scope::Review]).await;
    let runner = desk.caller("runner", &[Scope::Runner]).await;
    let made = desk.plane.create_task(&submit, task(json!({})), None).await.unwrap();
    let status = |result: Result<_, cofferdam_server::plane::PlaneError>| {
        result.map_err(|e| e.problem().status)
    };
    let create = |caller| desk.plane.create_task(caller, task(json!({})), None);
    assert_eq!(status(create(&review).await.map(|_| ())), Err(403));
    assert_eq!(status(create(&runner).await.map(|_| ())), Err(403));
    assert_eq!(status(desk.plane.task(&review, made.id).await.map(|_| ())), Ok(()));
    assert_eq!(status(desk.plane.task(&runner, made.id).await.map(|_| ())), Err(403));
    assert_eq!(status(desk.plane.tokens(&submit, &Paging::default()).await.map(|_| ())), Err(403));
    assert_eq!(status(desk.plane.verify(&submit).await.map(|_| ())), Err(403));
    let registered = desk.register(&runner, "one").await;
    let ask = ClaimAsk { runner: registered.runner, room: 1, wait_ms: 0 };
    assert_eq!(status(desk.plane.claim(&submit, ask).await.map(|_| ())), Err(403));
    let another = desk.caller("another", &[Scope::Runner]).await;
    assert_eq!(status(desk.plane.claim(&another, ask).await.map(|_| ())), Err(404));
    assert_eq!(desk.plane.claim(&runner, ask).await.unwrap().claims.len(), 1);
    let own = desk.project("own").await;
    let lead = desk.caller_of("lead", &[Scope::Admin], Some(vec![own.id])).await;
    let wide = NewToken {
        name: "wide".into(),
        scopes: vec![Scope::Admin],
        projects: None,
        expires_at: None,
    };
    assert_eq!(status(desk.plane.make_token(&lead, wide, None).await.map(|_| ())), Err(422));
    assert!(
        desk.plane
            .tokens(&lead, &Paging::default())
            .await
            .unwrap()
            .items
            .iter()
            .all(|token| token.projects.is_some())
    );
}

pub(crate) async fn whoever_is_bound_to_a_project_does_not_move_it(desk: Desk) {
    let own = desk.project("own").await;
    let lead = desk.caller_of("lead", &[Scope::Admin], Some(vec![own.id])).await;
    let as_it_is = NewProject {
        name: "own".into(),
        root_path: own.root_path.clone(),
        allowed_paths: vec![],
        max_running: None,
        default_role: None,
    };
    let other = desk.project("other").await.root_path;
    for wider in [
        NewProject { root_path: other.clone(), ..as_it_is.clone() },
        NewProject { allowed_paths: vec![other], ..as_it_is.clone() },
    ] {
        let refused = desk.plane.replace_project(&lead, own.id, wider.clone(), None).await;
        let problem = refused.unwrap_err().problem();
        assert_eq!(problem.status, 403);
        assert!(problem.detail.contains("root_path"), "{}", problem.detail);
        assert_eq!(desk.plane.project(&lead, own.id).await.unwrap().version, own.version);
        let made =
            desk.plane.create_project(&lead, NewProject { name: "new".into(), ..wider }, None);
        assert_eq!(made.await.unwrap_err().problem().status, 403);
    }
    let fewer = NewProject { max_running: Some(3), ..as_it_is };
    let replaced = desk.plane.replace_project(&lead, own.id, fewer, None).await.unwrap();
    assert_eq!(replaced.max_running, Some(3), "the rest is theirs to say");
}

pub(crate) async fn a_runner_learns_nothing_of_tasks_that_it_does_not_work_for(desk: Desk) {
    let (own, other) = (desk.project("own").await, desk.project("other").await);
    let theirs = desk.submit(json!({"project": other.id})).await;
    let taken = desk.submit(json!({"project": other.id})).await;
    let free = desk.submit(json!({})).await;
    let worker = desk.runner("one").await;
    let claims = worker.claim(&desk, 1).await;
    assert!([theirs.id, taken.id, free.id].contains(&claims[0].task.id));
    let bound = desk.caller_of("bound", &[Scope::Runner], Some(vec![own.id])).await;
    desk.register(&bound, "bound").await;
    let before = [desk.kinds(&theirs).await, desk.kinds(&taken).await, desk.kinds(&free).await];
    let status = |id| {
        let report = StatusReport {
            attempt: 1,
            fence: "00".repeat(16),
            seq: 0,
            status: ReportedStatus::Running,
            result: AttemptResult::default(),
            events: vec![],
        };
        desk.plane.report(&bound, id, report)
    };
    let log = |id| {
        let (stream, data) = (Stream::Stdout, "aGk=".to_owned());
        let chunk = LogChunk { attempt: 1, fence: "00".repeat(16), seq: 0, stream, data };
        desk.plane.log(&bound, id, chunk)
    };
    let file = |id| {
        let new = NewArtifact {
            attempt: 1,
            fence: "00".repeat(16),
            name: "a".into(),
            media_type: "text/plain".into(),
            bytes: vec![],
        };
        desk.plane.put_artifact(&bound, id, new)
    };
    let unknown = TaskId::from_parts(5, 5);
    let words = |id: TaskId| async move {
        format!("{:?} {:?} {:?}", status(id).await, log(id).await, file(id).await)
    };
    let none = words(unknown).await;
    assert!(none.starts_with("Err(NotFound"), "{none}");
    for hidden in [theirs.id, taken.id, free.id] {
        assert_eq!(words(hidden).await, none);
    }
    let after = [desk.kinds(&theirs).await, desk.kinds(&taken).await, desk.kinds(&free).await];
    assert_eq!(after, before, "nothing of it stands in the timeline of others");
}

pub(crate) async fn a_token_ends_and_its_secret_is_nowhere(mut desk: Desk) {
    let until = "2027-01-15T08:00:10Z".parse().unwrap();
    let asked = NewToken {
        name: "short".into(),
        scopes: vec![Scope::Submit],
        projects: None,
        expires_at: Some(until),
    };
    let made = desk.plane.make_token(&desk.admin, asked, None).await.unwrap();
    assert!(desk.plane.caller(&made.secret).is_some());
    assert!(desk.plane.caller(&format!("{}x", made.secret)).is_none());
    assert!(desk.plane.caller("").is_none());
    desk.clock.advance(Duration::from_secs(10));
    assert!(desk.plane.caller(&made.secret).is_none(), "it has expired");
    let late = NewToken {
        name: "late".into(),
        scopes: vec![Scope::Submit],
        projects: None,
        expires_at: Some(until),
    };
    let problem = desk.plane.make_token(&desk.admin, late, None).await.unwrap_err().problem();
    assert_eq!((problem.status, problem.field.as_deref()), (422, Some("expires_at")));
    let asked = NewToken {
        name: "long".into(),
        scopes: vec![Scope::Submit],
        projects: None,
        expires_at: None,
    };
    let long = desk.plane.make_token(&desk.admin, asked, None).await.unwrap();
    desk.restart().await;
    assert!(desk.plane.caller(&long.secret).is_some());
    desk.plane.revoke_token(&desk.admin, long.token.id).await.unwrap();
    assert!(desk.plane.caller(&long.secret).is_none());
    desk.restart().await;
    assert!(desk.plane.caller(&long.secret).is_none(), "revoked for good");
    assert!(desk.plane.first_token().await.unwrap().is_none(), "only on the very first start");
    if let Database::Sqlite(path) = desk.database() {
        for end in ["", "-wal"] {
            let bytes = std::fs::read(format!("{}{end}", path.display())).unwrap_or_default();
            let found = bytes.windows(long.secret.len()).any(|part| part == long.secret.as_bytes());
            assert!(!found, "plane.db{end}");
        }
    }
}
