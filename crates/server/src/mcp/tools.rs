//! The tools, one method each, by what they are about.

mod apply;
mod changes;
mod commands;
mod files;

use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::run::Call;

type Answer = Result<CallToolResult, ErrorData>;

fn call(context: RequestContext<RoleServer>) -> Call {
    Call { cancel: context.ct.clone(), context: Some(context) }
}
