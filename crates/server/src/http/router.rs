//! Every route in one list, and what each request passes on its way to one.

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::{
    admit, approval, artifact, change, event, health, leaving, log, metrics, observe, openapi,
    overview, problem, project, reference, request_id, role, runner, runner_protocol, task,
    template, token, who, workflow_run,
};

/// What needs a token.
fn closed() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(overview::me))
        .routes(routes!(overview::overview))
        .routes(routes!(overview::verify_chain))
        .routes(routes!(metrics::metrics))
        .routes(routes!(project::list_projects, project::create_project))
        .routes(routes!(project::show_project, project::replace_project, project::remove_project))
        .routes(routes!(overview::project_policy))
        .routes(routes!(role::list_roles, role::create_role))
        .routes(routes!(role::show_role, role::replace_role, role::remove_role))
        .routes(routes!(template::list_templates, template::create_template))
        .routes(routes!(
            template::show_template,
            template::replace_template,
            template::remove_template
        ))
        .routes(routes!(workflow_run::list_workflow_runs, workflow_run::create_workflow_run))
        .routes(routes!(workflow_run::show_workflow_run))
        .routes(routes!(workflow_run::pause_workflow_run))
        .routes(routes!(workflow_run::resume_workflow_run))
        .routes(routes!(workflow_run::abort_workflow_run))
        .routes(routes!(workflow_run::rerun_workflow_run))
        .routes(routes!(task::list_tasks, task::create_task))
        .routes(routes!(task::show_task))
        .routes(routes!(task::dispatch_task))
        .routes(routes!(task::cancel_task))
        .routes(routes!(task::retry_task))
        .routes(routes!(task::task_attempts))
        .routes(routes!(task::task_audit))
        .routes(routes!(task::task_events))
        .routes(routes!(task::task_artifacts))
        .routes(routes!(log::task_logs))
        .routes(routes!(change::task_changes))
        .routes(routes!(change::task_diff))
        .routes(routes!(change::apply_task))
        .routes(routes!(change::discard_task))
        .routes(routes!(change::undo_task))
        .routes(routes!(artifact::list_artifacts))
        .routes(routes!(artifact::get_artifact))
        .routes(routes!(approval::list_approvals))
        .routes(routes!(approval::show_approval))
        .routes(routes!(approval::approve))
        .routes(routes!(approval::reject))
        .routes(routes!(event::list_events))
        .routes(routes!(runner::list_runners))
        .routes(routes!(runner::show_runner))
        .routes(routes!(token::list_tokens, token::make_token))
        .routes(routes!(token::revoke_token))
        .routes(routes!(runner_protocol::register))
        .routes(routes!(runner_protocol::claim))
        .routes(routes!(runner_protocol::heartbeat))
        .routes(routes!(runner_protocol::report_status))
        .routes(routes!(runner_protocol::send_log))
        .routes(routes!(runner_protocol::send_artifact))
        .routes(routes!(runner_protocol::answer_errand))
}

/// What anybody may see who reaches the server.
fn open() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::Description::openapi())
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}

pub(crate) fn router(app: &App) -> Router {
    let closed = closed()
        .layer(from_fn_with_state(app.clone(), leaving::refuse))
        .layer(from_fn_with_state(app.clone(), who::require));
    let (router, mut api) = open().merge(closed).split_for_parts();
    openapi::complete(&mut api);
    router
        .merge(reference::pages(&api))
        .merge(crate::ui::routes())
        .route_layer(from_fn(observe::keep_route))
        .layer(from_fn_with_state(app.clone(), admit::admit))
        .layer(from_fn(problem::render))
        .layer(map_response(guard))
        .layer(from_fn_with_state(app.clone(), observe::observe))
        .layer(from_fn(request_id::give))
        .with_state(app.clone())
}

/// The API as a document.
pub(crate) fn description() -> utoipa::openapi::OpenApi {
    let mut api = open().merge(closed()).into_openapi();
    openapi::complete(&mut api);
    api
}

/// What a browser is told of every answer, where a handler says nothing else.
const GUARDS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

async fn guard(mut response: Response) -> Response {
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in GUARDS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
