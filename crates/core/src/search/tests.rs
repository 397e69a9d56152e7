use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::quantity::Span;

const LEAST: &str = "
generator: {command: [python3, generate.py]}
run: {command: [python3, run.py]}
metrics: {score: 'pointer:/score', loss: 'pointer:/loss'}
objective: {metric: score, goal: max}
budget: {iterations: 9}
";

fn file(more: &str) -> LoopFile {
    LoopFile::parse(&format!("{LEAST}{more}"), "loop.yaml").unwrap()
}

fn metrics(score: f64, loss: f64) -> Measured {
    Measured::Ended(BTreeMap::from([("score".to_owned(), score), ("loss".to_owned(), loss)]))
}

/// A history of such measures.
fn history(file: &LoopFile, measures: &[Measured]) -> History {
    let mut history = History::default();
    for measured in measures {
        let best = history.champion().and_then(|champion| champion.value);
        let (verdict, value) = judge(file, best, measured);
        let iteration = history.next();
        let metrics = match measured {
            Measured::Ended(metrics) => metrics.clone(),
            Measured::Rejected { .. } => BTreeMap::new(),
        };
        let seed = seed_of(file.seed, iteration);
        let trial =
            Trial { iteration, seed, verdict, value, metrics, candidate: None, files: 1, bytes: 1 };
        assert!(history.push(trial));
    }
    history
}

#[test]
fn a_whole_file_is_read() {
    let file = LoopFile::parse(
        "
generator: {command: [g], writes: src/a.py, timeout: 5s, sandbox: {network: bridge, env: {A: b}}}
check: off
run: {command: [r, --fast], expect_exit: 3}
score: {command: [s], timeout: 1m}
sandbox: {memory_limit: 1g, env_passthrough: [TOKEN]}
result_limit: 64k
metrics: {score: 'pointer:/s'}
objective: {metric: score, goal: min, target: -2.5, min_gain: 0.01}
constraints: ['score >= -10', score<5]
budget: {iterations: 200, wall_time: 1h, iteration_time: 30s, parallel: 4, no_progress: 20}
changes: {files: 3, bytes: 8k}
protected: [tests, '*.cfg']
start_from: champion
seed: 7
history: 10
keep: 2
",
        "loop.yaml",
    )
    .unwrap();
    assert_eq!(file.budget.parallel, 4);
    assert_eq!(file.generator.sandbox.len(), 2);
    assert_eq!(file.objective.target, Some(-2.5));
    assert_eq!(file.constraints[1].to_string(), "score < 5");
    assert_eq!((file.start_from, file.expect_exit, file.keep), (StartFrom::Champion, 3, 2));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let said = |text: &str| {
        let errors = LoopFile::parse(text, "loop.yaml").unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (text, part) in [
        ("", "nothing in it"),
        ("- a", "write a mapping"),
        ("generator: {}", "generator.command: is missing"),
        (
            &format!("{LEAST}\ngeneratr: 1"),
            "loop.yaml:8: generatr: unknown key (did you mean `generator`?)",
        ),
        (&format!("{LEAST}protected: ['a//b']"), "protected"),
        (&format!("{LEAST}constraints: ['drawdown <= 1']"), "none of the metrics"),
        (&format!("{LEAST}constraints: ['score is 1']"), "NAME, one of"),
        (&format!("{LEAST}check: strict"), "none of off, agent, strategy"),
        (&format!("{LEAST}start_from: yesterday"), "workspace or champion"),
        (&format!("{LEAST}sandbox: {{backend: local}}"), "cannot ask for the bare host"),
        (&format!("{LEAST}sandbox: {{blocked: []}}"), "sandbox.blocked: unknown key"),
        (&format!("{LEAST}sandbox: {{mounts: ['/etc:/e']}}"), "sandbox.mounts: unknown key"),
        (&format!("{LEAST}sandbox: {{memory_limit: much}}"), "sandbox.memory_limit"),
        (&format!("{LEAST}changes: {{files: 0}}"), "not from 1"),
        (&format!("{LEAST}result_limit: 1g"), "ask for 1 to"),
        (&LEAST.replace("goal: max", "goal: up"), "max or min"),
        (&LEAST.replace("metric: score", "metric: sharpe"), "none of the metrics"),
        (&LEAST.replace("[python3, run.py]", "python3 run.py"), "a list of words"),
        (
            &LEAST.replace("{command: [python3, generate.py]}", "{command: [g], writes: ../a}"),
            "generator.writes",
        ),
        (&LEAST.replace("iterations: 9", "iterations: 9, parallel: 0"), "not from 1"),
    ] {
        let all = said(text);
        assert!(all.contains(part), "{text}\n{all}");
    }
}

#[test]
fn a_candidate_wins_only_by_the_objective_and_within_the_constraints() {
    let file = file("constraints: ['loss <= 0.2']");
    let verdict = |best, measured: &Measured| judge(&file, best, measured).0;
    assert_eq!(verdict(None, &metrics(1.0, 0.1)), Verdict::Champion);
    assert_eq!(verdict(Some(1.0), &metrics(1.0, 0.1)), Verdict::Beaten);
    assert_eq!(verdict(Some(1.0), &metrics(1.1, 0.2)), Verdict::Champion);
    let reason = |measured: &Measured| match verdict(Some(1.0), measured) {
        Verdict::Rejected { reason, .. } => Some(reason),
        _ => None,
    };
    assert_eq!(reason(&metrics(9.0, 0.3)), Some(Reason::Constraint));
    let incomplete = BTreeMap::from([("score".to_owned(), 9.0)]);
    assert_eq!(reason(&Measured::Ended(incomplete)), Some(Reason::NoMetric));
    assert_eq!(reason(&metrics(f64::NAN, 0.1)), Some(Reason::NoMetric));
}

#[test]
fn a_loop_ends_for_each_of_its_reasons() {
    let span = |seconds| Span::secs(seconds);
    let failed = Measured::Rejected { reason: Reason::SandboxFailed, detail: String::new() };
    let all = file("");
    assert_eq!(history(&all, &[]).stop(&all, span(0)), None);
    let nine = vec![metrics(1.0, 0.0); 9];
    assert_eq!(history(&all, &nine).stop(&all, span(0)), Some(Stop::Iterations));
    assert_eq!(
        history(&all, &[failed.clone(), failed.clone(), failed]).stop(&all, span(0)),
        Some(Stop::SandboxFailed)
    );
    let with =
        |from: &str, to: &str| LoopFile::parse(&LEAST.replace(from, to), "loop.yaml").unwrap();
    let timed = with("iterations: 9", "iterations: 9, wall_time: 10s");
    assert_eq!(history(&timed, &nine[..2]).stop(&timed, span(9)), None);
    assert_eq!(history(&timed, &nine[..2]).stop(&timed, span(10)), Some(Stop::WallTime));
    let patient = with("iterations: 9", "iterations: 9, no_progress: 3");
    assert_eq!(history(&patient, &nine[..3]).stop(&patient, span(0)), None);
    assert_eq!(history(&patient, &nine[..4]).stop(&patient, span(0)), Some(Stop::NoProgress));
    let modest = with("goal: max", "goal: max, target: 1");
    assert_eq!(history(&modest, &nine[..1]).stop(&modest, span(0)), Some(Stop::Target));
}

proptest! {
    /// The champion is the first of the best that count, whatever was tried between.
    #[test]
    fn the_champion_is_the_best_that_counts(scores in prop::collection::vec((-9i32..9, 0i32..4), 0..40)) {
        let file = file("constraints: ['loss <= 2']");
        let measures: Vec<_> =
            scores.iter().map(|(score, loss)| metrics(f64::from(*score), f64::from(*loss))).collect();
        let history = history(&file, &measures);
        let counting = scores.iter().filter(|(_, loss)| *loss <= 2).map(|(score, _)| *score);
        let best = counting.max();
        prop_assert_eq!(history.champion().and_then(|c| c.value), best.map(f64::from));
        let first = scores.iter().position(|(score, loss)| *loss <= 2 && Some(*score) == best);
        prop_assert_eq!(history.champion().map(|c| c.iteration), first.map(|at| at as u64 + 1));
    }

    /// What an iteration is told does not depend on how far the batch it belongs to has come.
    #[test]
    fn a_batch_is_told_one_history(done in 0usize..30, more in 0usize..8, parallel in 1u64..8) {
        let file = file("");
        let measures: Vec<_> = (0u32..).take(done + more).map(|at| metrics(f64::from(at % 7), 0.0)).collect();
        let (early, late) = (history(&file, &measures[..done]), history(&file, &measures));
        let next = early.next();
        let whole = ((next - 1) / parallel) * parallel;
        let known = early.before_batch_of(next, parallel);
        prop_assert_eq!(known.trials().len() as u64, whole);
        prop_assert_eq!(
            input(&file, &known, next),
            input(&file, &late.before_batch_of(next, parallel), next)
        );
        let LoopFile { mut budget, .. } = file.clone();
        budget.parallel = parallel;
        budget.iterations = 1000;
        let wide = LoopFile { budget, ..file };
        let batch = early.next_batch(&wide);
        prop_assert_eq!(*batch.start(), next);
        prop_assert_eq!(*batch.end() % parallel, 0);
        prop_assert!(*batch.end() - whole == parallel);
    }

    /// A file of anything is read or refused; it never ends the reader.
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
        drop(LoopFile::parse(&text, "loop.yaml"));
    }
}
