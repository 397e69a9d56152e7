//! The server as its clients meet it: over real sockets, by bytes that are written by hand. What depends on the store is
//! claimed of both.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod access;
mod answers;
mod bodies;
mod description;
#[path = "../plane/elsewhere.rs"]
mod elsewhere;
mod names;
mod server;
mod shutdown;
mod streams;
mod tls;
mod versions;
mod watching;
mod wire;

macro_rules! claims {
    ($($module:ident::$claim:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $claim() {
                crate::$module::$claim(crate::server::Server::start());
            })+
        }

        mod postgres {
            $(#[test]
            #[cfg_attr(not(feature = "test-postgres"), ignore = "needs PostgreSQL: cargo xtask test")]
            fn $claim() {
                crate::$module::$claim(crate::server::Server::on_postgres());
            })+
        }
    };
}

claims! {
    access::without_a_token_there_is_nothing_but_the_doors,
    access::a_scope_does_what_it_says_and_no_more,
    access::what_is_another_projects_is_not_there,
    access::counts_are_for_whoever_may_know_of_all,
    access::paths_that_are_no_ids_lead_nowhere,
    bodies::the_field_that_is_wrong_is_named,
    bodies::a_field_that_is_missing_is_named,
    bodies::what_a_runner_says_is_known_to_the_last_field,
    bodies::json_that_parsers_disagree_about_is_refused,
    bodies::depth_is_bounded_cheaply,
    bodies::a_gigabyte_is_refused_before_it_is_sent_and_while_it_is,
    bodies::a_body_just_over_the_limit_is_told_so,
    bodies::an_answer_to_an_errand_may_be_larger_than_other_bodies,
    bodies::a_body_is_json_and_says_so,
    bodies::what_needs_no_body_takes_none,
    bodies::words_after_the_question_mark_are_checked_too,
    names::a_name_that_was_rebound_is_refused_before_the_token_counts,
    names::a_page_of_another_origin_gets_nothing_done,
    names::a_followed_link_leads_to_a_page_and_to_nothing_else,
    names::every_answer_tells_browsers_what_not_to_do_with_it,
    shutdown::streams_and_polls_end_and_requests_are_finished,
    shutdown::who_never_finishes_is_cut_off,
    shutdown::a_server_that_will_end_makes_nothing_new,
    streams::a_stream_goes_on_where_it_was_cut_off,
    streams::output_goes_on_where_it_was_cut_off,
    streams::output_goes_on_with_the_next_attempt,
    streams::what_is_asked_for_is_what_comes,
    streams::a_stream_ends_with_its_token,
    streams::a_stream_shows_nothing_of_other_projects,
    streams::many_quiet_readers_cost_no_answers,
    versions::a_thing_is_replaced_only_by_who_has_seen_it,
    versions::a_version_that_is_known_is_said_as_http_says_it,
    versions::the_same_create_with_the_same_key_is_one,
    versions::the_same_key_makes_no_second_token_and_shows_no_secret_again,
    versions::tokens_and_runners_come_in_pages_too,
    versions::pages_hold_everything_once,
    watching::a_request_has_an_id_of_its_own_or_the_callers,
    watching::a_server_that_stops_is_not_ready,
    watching::orphans_that_a_runner_removed_are_counted,
    watching::metrics_are_what_a_scraper_reads,
}
