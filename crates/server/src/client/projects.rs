//! Projects.

use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::project::{NewProject, Project};
use reqwest::Method;

use super::{Client, ClientError, Question};

impl Client {
    pub async fn create_project(&self, project: &NewProject) -> Result<Project, ClientError> {
        self.post("/v1/projects", project).await
    }

    pub async fn projects(&self, after: Option<&str>) -> Result<Page<Project>, ClientError> {
        self.ask(Question::new(Method::GET, "/v1/projects").query("after", after)).await
    }

    pub async fn project(&self, project: ProjectId) -> Result<Project, ClientError> {
        self.get(format!("/v1/projects/{project}")).await
    }
}
