//! Who asks, and what they may: the only place where scopes and projects are compared.

use cofferdam_core::control::id::{ProjectId, TokenId};
use cofferdam_core::control::token::{Scope, Token};

use super::error::PlaneError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `token:NAME`.
    pub actor: String,
    pub token: TokenId,
    pub scopes: Vec<Scope>,
    /// The only projects it knows; absent: all.
    pub projects: Option<Vec<ProjectId>>,
}

impl Caller {
    pub(crate) fn of(token: &Token) -> Self {
        Self {
            actor: format!("token:{}", token.name),
            token: token.id,
            scopes: token.scopes.clone(),
            projects: token.projects.clone(),
        }
    }

    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&Scope::Admin) || self.scopes.contains(&scope)
    }

    pub(crate) fn needs(&self, scope: Scope) -> Result<(), PlaneError> {
        if self.has(scope) { Ok(()) } else { Err(PlaneError::Scope(scope)) }
    }

    /// Which places of the hosts tasks may reach is not for whoever is bound to some projects: any tree could be made one of theirs.
    pub(crate) fn decides_places(&self) -> Result<(), PlaneError> {
        if self.projects.is_none() {
            return Ok(());
        }
        Err(PlaneError::Bound {
            message: "this token is bound to projects, and root_path and allowed_paths are not theirs to say",
            remedy: "leave both as they are, or use an admin token that is bound to no project",
        })
    }

    pub(crate) fn reads(&self) -> Result<(), PlaneError> {
        if self.has(Scope::Submit) || self.has(Scope::Review) {
            Ok(())
        } else {
            Err(PlaneError::Scope(Scope::Submit))
        }
    }

    /// Counts are of all projects at once, so they are for whoever may know of all.
    pub(crate) fn watches(&self) -> Result<(), PlaneError> {
        self.reads()?;
        if self.projects.is_none() {
            return Ok(());
        }
        Err(PlaneError::Bound {
            message: "this token is bound to projects, and what is counted is of all of them",
            remedy: "use a token of scope review or submit that is bound to no project",
        })
    }

    pub(crate) fn sees(&self, project: Option<ProjectId>) -> bool {
        match (&self.projects, project) {
            (None, _) => true,
            (Some(known), Some(project)) => known.contains(&project),
            (Some(_), None) => false,
        }
    }

    /// Reading something of a project: what the caller may not know of is not there.
    pub(crate) fn finds(
        &self,
        project: Option<ProjectId>,
        noun: &'static str,
    ) -> Result<(), PlaneError> {
        if self.sees(project) { Ok(()) } else { Err(PlaneError::NotFound(noun)) }
    }
}
