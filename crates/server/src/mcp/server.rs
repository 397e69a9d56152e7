//! What a connection is served by: the tools, which are in [`tools`](super::tools), and the resources.

use std::borrow::Cow;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{
    Implementation, ListResourcesResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool_handler};

use super::ApplyTool;
use super::held::Held;
use super::resources;

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) held: Held,
    lives: Lives,
    tool_router: ToolRouter<Self>,
}

/// What a session lives as long as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lives {
    /// As this process: its standard input is the connection.
    WithProcess,
    /// As a session of the protocol, which its newest versions do not know; those are not spoken then.
    WithSession,
}

const INSTRUCTIONS: &str = "Everything here happens in a sandbox: the project is at /workspace, staged, so that nothing \
    reaches the user's files until they apply it themselves. There is no network unless the user allowed it. Commands \
    share one session: files, background processes and installed packages stay from call to call. Say what you changed \
    when you are done; the user reviews it with `cofferdam diff` and applies it with `cofferdam apply`.";

impl Server {
    pub(super) fn new(held: Held, lives: Lives) -> Self {
        let tools = Self::command_tools() + Self::file_tools() + Self::change_tools();
        let tool_router = match held.setting().apply {
            ApplyTool::Absent => tools,
            ApplyTool::Offered => tools + Self::apply_tools(),
        };
        Self { held, lives, tool_router }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cofferdam", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match self.lives {
            Lives::WithProcess => ProtocolVersion::KNOWN_VERSIONS,
            Lives::WithSession => {
                ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE)
            }
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resources::read(&self.held, &request.uri).await {
            Ok(text) => {
                let kind = resources::kind(&request.uri);
                let contents = ResourceContents::text(text, request.uri).with_mime_type(kind);
                let contents = vec![contents];
                Ok(ReadResourceResult::new(contents).into())
            }
            Err(why) => Err(ErrorData::resource_not_found(why, None)),
        }
    }
}
