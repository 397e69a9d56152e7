//! The control plane against real databases, through its whole service: no HTTP, no sandbox. Every claim is made on
//! SQLite and on PostgreSQL.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot look at its own surroundings has failed; a walk that fails is told step by step"
)]

#[path = "plane/approvals.rs"]
mod approvals;
#[path = "plane/cancel.rs"]
mod cancel;
#[path = "plane/commands.rs"]
mod commands;
#[path = "plane/desk.rs"]
mod desk;
#[path = "plane/durable.rs"]
mod durable;
#[path = "plane/elsewhere.rs"]
mod elsewhere;
#[path = "plane/errands.rs"]
mod errands;
#[path = "plane/leases.rs"]
mod leases;
#[path = "plane/locks.rs"]
mod locks;
#[path = "plane/mounts.rs"]
mod mounts;
#[path = "plane/once.rs"]
mod once;
#[path = "plane/output.rs"]
mod output;
#[path = "plane/path.rs"]
mod path;
#[path = "plane/queue.rs"]
mod queue;
#[path = "plane/scopes.rs"]
mod scopes;
#[path = "plane/walks.rs"]
mod walks;
#[path = "plane/workflows.rs"]
mod workflows;

macro_rules! claims {
    ($($module:ident::$claim:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $claim() {
                let desk = crate::desk::Desk::on_sqlite().await;
                crate::$module::$claim(desk).await;
            })+
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            #[cfg_attr(not(feature = "test-postgres"), ignore = "needs PostgreSQL: cargo xtask test")]
            async fn $claim() {
                let desk = crate::desk::Desk::on_postgres().await;
                crate::$module::$claim(desk).await;
            })+
        }
    };
}

claims! {
    approvals::a_yes_is_asked_for_before_anything_is_taken,
    approvals::a_yes_holds_only_for_the_rules_it_was_given_under,
    approvals::a_yes_covers_another_try_only_while_nothing_has_changed,
    approvals::a_yes_is_asked_for_to_the_command_whatever_it_is_called,
    approvals::a_no_and_a_cancel_both_end_the_question,
    cancel::what_nobody_holds_is_canceled_at_once,
    cancel::what_runs_is_canceled_when_its_runner_says_so,
    cancel::a_cancel_that_was_told_is_told_again_without_haste,
    cancel::an_illegal_move_is_refused_and_stands_in_the_timeline,
    commands::a_denied_command_is_refused_when_it_is_asked_for,
    commands::a_command_that_needs_a_look_waits_for_a_yes,
    commands::rules_that_came_later_hold_at_dispatch_and_at_the_claim,
    durable::what_was_acknowledged_is_there_after_a_restart,
    durable::a_second_server_is_refused,
    durable::a_server_that_was_just_killed_is_waited_for,
    durable::a_chain_that_was_touched_does_not_hold,
    durable::a_chain_that_was_cut_before_a_restart_does_not_hold,
    durable::an_event_that_is_hidden_is_found_out,
    errands::changes_are_decided_where_they_lie_and_the_chain_has_every_link,
    errands::the_audit_says_what_was_decided_and_what_came_of_it,
    errands::an_apply_of_nothing_leaves_no_word_of_one,
    errands::a_mark_goes_along_with_its_hunks_and_is_nothing_else,
    errands::an_answer_is_kept_even_if_the_server_was_started_anew,
    leases::what_a_silent_runner_held_is_lost_and_its_late_word_changes_nothing,
    leases::what_changes_nothing_is_written_down_and_fills_nothing,
    errands::a_runner_that_is_not_there_is_not_waited_for,
    leases::a_claim_whose_answer_was_lost_goes_back_into_the_queue,
    leases::a_runner_that_is_started_anew_keeps_what_it_still_has,
    leases::a_name_passes_on_once_its_token_has_ended,
    leases::a_token_has_so_many_runners_and_each_says_so_much,
    leases::a_restart_gives_runners_their_time_again,
    locks::one_place_is_locked_by_each_of_its_names,
    locks::one_tree_is_locked_for_all_projects_that_have_it,
    mounts::a_forbidden_mount_is_refused_by_its_rule_and_stands_in_the_timeline,
    mounts::a_place_inside_that_no_plan_gives_is_refused_at_once,
    mounts::what_is_refused_at_dispatch_stands_in_the_timeline_of_its_task,
    once::the_same_request_twice_makes_one_task,
    once::a_version_that_is_not_the_latest_is_refused,
    output::pieces_come_once_in_order_and_up_to_the_limit,
    output::what_is_left_out_is_known_after_a_restart,
    output::artifacts_come_back_as_they_were_given,
    output::an_artifact_that_was_altered_is_not_given_out,
    path::a_task_goes_from_the_request_to_its_end_and_the_chain_holds,
    path::failures_are_tried_again_by_their_cause_and_after_a_wait,
    queue::a_project_never_runs_more_than_it_may,
    queue::a_project_has_no_more_waiting_than_there_is_room_for,
    queue::nothing_begins_after_its_deadline,
    queue::what_is_too_late_is_neither_taken_in_nor_handed_out,
    queue::a_claim_waits_for_work_and_is_woken_by_it,
    scopes::nobody_learns_of_what_is_not_theirs,
    scopes::each_scope_does_its_own_and_no_more,
    scopes::whoever_is_bound_to_a_project_does_not_move_it,
    scopes::a_runner_learns_nothing_of_tasks_that_it_does_not_work_for,
    scopes::a_token_ends_and_its_secret_is_nowhere,
    walks::random_walks_are_legal_and_come_to_an_end,
    workflows::steps_go_on_when_those_before_them_are_over,
    workflows::a_failure_skips_or_starts_what_depends_on_it,
    workflows::paused_begins_nothing_and_aborted_ends_everything,
    workflows::paused_holds_what_is_approved_dispatched_or_tried_again,
    workflows::a_run_that_is_over_begins_nothing_more,
    workflows::what_comes_too_late_for_a_run_stands_in_the_timeline,
    workflows::a_part_is_repeated_with_what_depends_on_it,
    workflows::a_part_is_repeated_only_once_the_rest_is_over,
    workflows::a_run_has_another_version_when_a_task_of_it_has,
    workflows::what_a_later_step_may_not_do_is_refused_before_an_earlier_one_runs,
}
