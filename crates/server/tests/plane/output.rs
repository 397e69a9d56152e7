//! What a program wrote, and what it left.

use std::slice;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::report::{LogChunk, ReportedStatus, StatusReport, Stream, Taken};
use cofferdam_core::control::task::{AttemptResult, OutputCounts};
use cofferdam_server::plane::{ArtifactFilter, EventFilter, NewArtifact};
use serde_json::json;

use crate::desk::Desk;
use crate::durable::touch;

pub(crate) async fn pieces_come_once_in_order_and_up_to_the_limit(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    let chunk = |seq: u64, stream, bytes: &[u8]| LogChunk {
        attempt: 1,
        fence: claim.fence.clone(),
        seq,
        stream,
        data: STANDARD.encode(bytes),
    };
    let send = |chunk: LogChunk| desk.plane.log(&runner.caller, task.id, chunk);
    assert_eq!(send(chunk(0, Stream::Stdout, b"hello\n")).await.unwrap(), Taken::Accepted);
    assert_eq!(send(chunk(0, Stream::Stdout, b"hello\n")).await.unwrap(), Taken::Repeated);
    assert_eq!(send(chunk(1, Stream::Stderr, b"\xff\xfe")).await.unwrap(), Taken::Accepted);
    let forged = LogChunk { fence: "0".repeat(32), ..chunk(2, Stream::Stdout, b"evil") };
    assert_eq!(send(forged).await.unwrap(), Taken::Stale);
    let not_base64 = LogChunk { data: "%%".into(), ..chunk(2, Stream::Stdout, b"") };
    assert_eq!(send(not_base64).await.unwrap_err().problem().field.as_deref(), Some("data"));
    let page = desk.plane.logs(&desk.admin, task.id, None, None, 100).await.unwrap();
    let seen: Vec<_> = page.items.iter().map(|p| (p.seq, p.stream, p.text.as_str())).collect();
    assert_eq!(seen, [(0, Stream::Stdout, "hello\n"), (1, Stream::Stderr, "\u{fffd}\u{fffd}")]);
    assert_eq!(page.items[1].data.as_deref(), Some(STANDARD.encode(b"\xff\xfe").as_str()));
    let later = desk.plane.logs(&desk.admin, task.id, Some(1), Some(0), 100).await.unwrap();
    assert_eq!(later.items.len(), 1);
    // Of each stream sixteen mebibytes are kept, its end among them; what lies between is left out.
    let large = vec![b'x'; 256 << 10];
    for seq in 2..82 {
        assert_eq!(send(chunk(seq, Stream::Stdout, &large)).await.unwrap(), Taken::Accepted);
    }
    assert_eq!(send(chunk(82, Stream::Stdout, b"LASTLINE\n")).await.unwrap(), Taken::Accepted);
    assert_eq!(send(chunk(83, Stream::Stderr, b"errline\n")).await.unwrap(), Taken::Accepted);
    let page = desk.plane.logs(&desk.admin, task.id, None, None, 1000).await.unwrap();
    let there = &page.items;
    let of = |stream| there.iter().filter(move |piece| piece.stream == stream);
    let kept: usize = of(Stream::Stdout).map(|piece| piece.text.len()).sum();
    assert!(kept <= 16 << 20 && kept > 14 << 20, "{kept}");
    assert_eq!(there[0].text, "hello\n");
    assert_eq!(of(Stream::Stdout).next_back().unwrap().text, "LASTLINE\n");
    assert_eq!(of(Stream::Stderr).next_back().unwrap().text, "errline\n");
    assert!(there.windows(2).any(|two| two[1].seq > two[0].seq + 1), "the gap shows");
    let counts = OutputCounts { stdout_bytes: 20_971_535, stderr_bytes: 10 };
    let report = StatusReport {
        attempt: 1,
        fence: claim.fence.clone(),
        seq: 0,
        status: ReportedStatus::Succeeded,
        result: AttemptResult { output: Some(counts), ..AttemptResult::default() },
        events: vec![],
    };
    desk.plane.report(&runner.caller, task.id, report).await.unwrap();
    assert_eq!(desk.plane.task(&desk.admin, task.id).await.unwrap().result.output, Some(counts));
    assert_eq!(send(chunk(99, Stream::Stdout, b"late")).await.unwrap(), Taken::Stale);
    let filter = EventFilter {
        task: Some(task.id),
        kind: Some("sandbox.output_truncated".into()),
        ..EventFilter::default()
    };
    let told = desk.plane.events(&desk.admin, &filter, &Paging::default()).await.unwrap().items;
    let told: Vec<_> = told.into_iter().map(|event| event.data).collect();
    let said = json!({"stream": "stdout", "total_bytes": 20_971_535, "kept_bytes": kept});
    assert_eq!(told, [said], "of the stream that was cut, and of no other");
}

/// The end of a stream stays the end, whoever counts it.
pub(crate) async fn what_is_left_out_is_known_after_a_restart(mut desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    let large = STANDARD.encode(vec![b'x'; 256 << 10]);
    let chunk = |seq: u64| LogChunk {
        attempt: 1,
        fence: claim.fence.clone(),
        seq,
        stream: Stream::Stdout,
        data: large.clone(),
    };
    for seq in 0..80 {
        desk.plane.log(&runner.caller, task.id, chunk(seq)).await.unwrap();
    }
    desk.restart().await;
    desk.plane.log(&runner.caller, task.id, chunk(79)).await.unwrap();
    for seq in 80..120 {
        desk.plane.log(&runner.caller, task.id, chunk(seq)).await.unwrap();
    }
    let page = desk.plane.logs(&desk.admin, task.id, None, None, 1000).await.unwrap();
    let kept = page.items.len();
    assert!((56..=64).contains(&kept), "{kept}");
    assert_eq!(page.items.last().unwrap().seq, 119);
    assert!(page.items[..40].iter().zip(0..).all(|(piece, at)| piece.seq == at));
}

pub(crate) async fn artifacts_come_back_as_they_were_given(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    let new = |name: &str, bytes: &[u8]| NewArtifact {
        attempt: 1,
        fence: claim.fence.clone(),
        name: name.into(),
        media_type: "application/octet-stream".into(),
        bytes: bytes.to_vec(),
    };
    let put = |new: NewArtifact| desk.plane.put_artifact(&runner.caller, task.id, new);
    let bytes: Vec<u8> = (0..=255).collect();
    let kept = put(new("report.bin", &bytes)).await.unwrap();
    let again = put(new("report.bin", &bytes)).await.unwrap();
    assert_eq!(kept, again, "sent twice, kept once");
    assert_eq!(put(new("report.bin", b"other")).await.unwrap_err().problem().status, 409);
    for bad in ["", "a/../b", "/a", "a\nb"] {
        assert_eq!(put(new(bad, b"x")).await.unwrap_err().problem().status, 422, "{bad:?}");
    }
    let forged = NewArtifact { fence: "0".repeat(32), ..new("evil", b"x") };
    assert_eq!(put(forged).await.unwrap_err().problem().status, 404);
    let large = vec![0_u8; (16 << 20) + 1];
    assert_eq!(put(new("large", &large)).await.unwrap_err().problem().status, 413);
    let (found, read) = desk.plane.artifact(&desk.admin, kept.id).await.unwrap();
    assert_eq!((found.size, &read), (256, &bytes));
    assert_eq!(
        desk.plane.artifacts(&desk.admin, task.id, &Paging::default()).await.unwrap().items,
        slice::from_ref(&kept)
    );
    let here = &desk;
    let all = |filter: ArtifactFilter| async move {
        let page = here.plane.all_artifacts(&here.admin, &filter, &Paging::default()).await;
        page.unwrap().items
    };
    assert_eq!(all(ArtifactFilter::default()).await, slice::from_ref(&kept));
    assert_eq!(all(ArtifactFilter { task: Some(task.id), ..Default::default() }).await, [kept]);
    let none = ArtifactFilter { name: Some("other".into()), ..Default::default() };
    assert!(all(none).await.is_empty());
    // So many and no more, and nothing once the end was reported; what was kept before may be sent again.
    for number in 1..=64 {
        put(new(&format!("dir/{number}"), b"x")).await.unwrap();
    }
    assert_eq!(put(new("one-too-many", b"x")).await.unwrap_err().problem().status, 409);
    runner.report(&desk, &claim, 0, ReportedStatus::Succeeded).await;
    put(new("report.bin", &bytes)).await.unwrap();
    assert_eq!(put(new("late", b"x")).await.unwrap_err().problem().status, 409);
    assert!(desk.kinds(&task).await.contains(&"runner.report_refused".to_owned()));
}

pub(crate) async fn an_artifact_that_was_altered_is_not_given_out(desk: Desk) {
    let runner = desk.runner("one").await;
    let task = desk.submit(json!({})).await;
    let claim = runner.claim(&desk, 1).await.remove(0);
    let new = NewArtifact {
        attempt: 1,
        fence: claim.fence.clone(),
        name: "report".into(),
        media_type: "text/plain".into(),
        bytes: b"all is well".to_vec(),
    };
    let kept = desk.plane.put_artifact(&runner.caller, task.id, new).await.unwrap();
    desk.plane.artifact(&desk.admin, kept.id).await.unwrap();
    for altered in
        ["UPDATE artifact_bytes SET data = 'ZXZpbA=='", "UPDATE artifact_bytes SET data = '%'"]
    {
        assert_eq!(touch(desk.database().clone(), altered).await, 1);
        let refused = desk.plane.artifact(&desk.admin, kept.id).await.unwrap_err();
        assert_eq!(refused.problem().status, 500, "{altered}");
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert!(why.contains(&kept.id.to_string()), "{why}");
    }
}
