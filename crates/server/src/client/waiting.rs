//! The client for who has no runtime: every question is waited for.

use std::future::Future;

use super::{Address, AddressError, Client};

/// A client with a runtime of its own.
#[derive(Debug)]
pub struct Waiting {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("cannot start a runtime")]
    Runtime(#[from] std::io::Error),
}

impl Waiting {
    pub fn open(address: &Address) -> Result<Self, OpenError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client: Client::new(address)?, runtime })
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for an answer.
    pub fn wait<T>(&self, question: impl Future<Output = T>) -> T {
        self.runtime.block_on(question)
    }
}
