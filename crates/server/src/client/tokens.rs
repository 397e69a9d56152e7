//! Tokens: who may ask.

use cofferdam_core::control::id::TokenId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::token::{MadeToken, NewToken, Token};
use reqwest::Method;

use super::{Client, ClientError, Question};

impl Client {
    pub async fn make_token(&self, token: &NewToken) -> Result<MadeToken, ClientError> {
        self.post("/v1/tokens", token).await
    }

    /// All of them.
    pub async fn tokens(&self) -> Result<Page<Token>, ClientError> {
        self.every("/v1/tokens", None).await
    }

    pub async fn revoke_token(&self, id: TokenId) -> Result<(), ClientError> {
        let question = Question::new(Method::DELETE, format!("/v1/tokens/{id}"));
        self.raw(question).await.map(drop)
    }
}
