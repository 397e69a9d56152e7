//! Tokens: made, listed, revoked, and known again by their hash.

use std::collections::HashMap;
use std::sync::PoisonError;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cofferdam_core::control::admission;
use cofferdam_core::control::id::TokenId;
use cofferdam_core::control::overview::Me;
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::token::{MadeToken, NewToken, Scope, Token};
use cofferdam_core::stamp::Stamp;
use serde_json::json;
use sqlx::Row as _;

use super::caller::Caller;
use super::error::PlaneError;
use super::keys::{IdempotencyKey, Once};
use super::turn::{About, Turn};
use super::{Plane, rows};
use crate::store::{Sql, Store, StoreError, from_doc, run, to_doc};

const NOUN: &str = "token";
/// What every secret begins with, so that it is recognised where it does not belong.
const PREFIX: &str = "cofferdam_";

impl Plane {
    /// Who has this secret, if somebody has and it still holds.
    pub fn caller(&self, secret: &str) -> Option<Caller> {
        let hash = blake3::hash(secret.as_bytes());
        let tokens = self.inner.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let (kept, token) = tokens.get_key_value(hash.as_bytes())?;
        // Equality of these hashes takes the same time whatever they are.
        let now = self.inner.settings.clock.now();
        let holds = blake3::Hash::from_bytes(*kept) == hash && is_good(token, now);
        holds.then(|| Caller::of(token))
    }

    /// A token for everything, where there has never been a token.
    pub async fn first_token(&self) -> Result<Option<MadeToken>, PlaneError> {
        let made = self
            .write(|turn| {
                Box::pin(async move {
                    let any = rows::all::<Token>(
                        turn.db().await?,
                        "tokens",
                        Sql::new("SELECT doc FROM tokens LIMIT 1"),
                    );
                    if !any.await?.is_empty() {
                        return Ok(None);
                    }
                    let asked = NewToken {
                        name: "admin".to_owned(),
                        scopes: vec![Scope::Admin],
                        projects: None,
                        expires_at: None,
                    };
                    make(turn, "server", asked).await.map(Some)
                })
            })
            .await?;
        if let Some(made) = &made {
            self.remember(&made.secret, made.token.clone());
        }
        Ok(made)
    }

    pub async fn make_token(
        &self,
        caller: &Caller,
        asked: NewToken,
        key: Option<IdempotencyKey>,
    ) -> Result<MadeToken, PlaneError> {
        caller.needs(Scope::Admin)?;
        admission::name("name", &asked.name)?;
        if asked.scopes.is_empty() {
            let remedy = "name admin, submit, review or runner";
            return Err(PlaneError::field("scopes", "a token needs a scope", remedy));
        }
        // Nobody gives away more than they have.
        let wider = match (&caller.projects, &asked.projects) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(own), Some(asked)) => asked.iter().any(|project| !own.contains(project)),
        };
        if wider {
            let message = "a token of some projects makes tokens of these projects only";
            return Err(PlaneError::field("projects", message, "name projects that you know"));
        }
        let once = Once::new(caller, key, NOUN, &asked)?;
        let actor = caller.actor.clone();
        let made = self
            .write(move |turn| {
                Box::pin(async move {
                    if let Some(id) = once.made(turn).await? {
                        // Its text is nowhere any more, and another text would be another token.
                        return Err(PlaneError::Conflict {
                            message: format!("this key has made the token {id}, whose text is shown once"),
                            remedy: "revoke that one if its text was lost, and make another with a new key",
                        });
                    }
                    let made = make(turn, &actor, asked).await?;
                    once.keep(turn, &made.token.id).await?;
                    Ok(made)
                })
            })
            .await?;
        self.remember(&made.secret, made.token.clone());
        Ok(made)
    }

    /// The oldest first.
    pub async fn tokens(
        &self,
        caller: &Caller,
        paging: &Paging,
    ) -> Result<Page<Token>, PlaneError> {
        caller.needs(Scope::Admin)?;
        let mut db = self.inner.store.reader().await?;
        let all: Vec<Token> =
            rows::all(&mut db, "tokens", Sql::new("SELECT doc FROM tokens ORDER BY id")).await?;
        let known = all.into_iter().filter(|token| knows(caller, token)).collect();
        rows::page_of(known, paging, |token| token.id.to_string())
    }

    pub async fn revoke_token(&self, caller: &Caller, id: TokenId) -> Result<Token, PlaneError> {
        caller.needs(Scope::Admin)?;
        let caller = caller.clone();
        let token = self
            .write(move |turn| {
                Box::pin(async move {
                    let sql = Sql::new("SELECT doc FROM tokens WHERE id = $1").text(id);
                    let found: Option<Token> = rows::find(turn.db().await?, "tokens", sql).await?;
                    let mut token = found
                        .filter(|token| knows(&caller, token))
                        .ok_or(PlaneError::NotFound(NOUN))?;
                    if token.revoked_at.is_some() {
                        return Ok(token);
                    }
                    token.revoked_at = Some(turn.now);
                    let doc = to_doc(&token, "tokens")?;
                    let sql =
                        Sql::new("UPDATE tokens SET doc = $1 WHERE id = $2").text(doc).text(id);
                    run(turn.db().await?, sql).await?;
                    let data = json!({"token": id, "name": token.name});
                    turn.tell(&About::default(), &caller.actor, "token.revoked", data).await?;
                    Ok(token)
                })
            })
            .await?;
        let mut known = self.inner.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.values_mut().find(|kept| kept.id == id) {
            *kept = token.clone();
        }
        Ok(token)
    }

    /// Who the caller is.
    pub async fn me(&self, caller: &Caller) -> Result<Me, PlaneError> {
        let known = self.inner.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let token = known.values().find(|token| token.id == caller.token).cloned();
        let token = token.ok_or(PlaneError::NotFound(NOUN))?;
        Ok(Me { actor: caller.actor.clone(), scopes: caller.scopes.clone(), token })
    }

    fn remember(&self, secret: &str, token: Token) {
        let hash = *blake3::hash(secret.as_bytes()).as_bytes();
        self.inner.tokens.write().unwrap_or_else(PoisonError::into_inner).insert(hash, token);
    }
}

/// Whether nobody can show this token any more. One that was never made has not ended: it is that of the runner inside.
pub(super) async fn has_ended(turn: &mut Turn, id: &str) -> Result<bool, PlaneError> {
    let sql = Sql::new("SELECT doc FROM tokens WHERE id = $1").text(id);
    let found: Option<Token> = rows::find(turn.db().await?, "tokens", sql).await?;
    let now = turn.now;
    Ok(found.is_some_and(|token| !is_good(&token, now)))
}

fn is_good(token: &Token, now: Stamp) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|until| now < until)
}

/// Whether the caller may know of a token: it reaches no further than the caller's own.
fn knows(caller: &Caller, token: &Token) -> bool {
    match (&caller.projects, &token.projects) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(own), Some(projects)) => projects.iter().all(|project| own.contains(project)),
    }
}

async fn make(turn: &mut Turn, actor: &str, asked: NewToken) -> Result<MadeToken, PlaneError> {
    if let Some(end) = asked.expires_at.filter(|end| *end <= turn.now) {
        let message = format!("a token whose time was over at {end} would never count");
        let remedy = "name a time to come, or none";
        return Err(PlaneError::field("expires_at", message, remedy));
    }
    let (millis, random) = turn.id()?;
    let bytes: [u8; 32] = turn.random()?;
    let secret = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
    let token = Token {
        id: TokenId::from_parts(millis, random),
        name: asked.name,
        scopes: asked.scopes,
        projects: asked.projects,
        created_at: turn.now,
        expires_at: asked.expires_at,
        revoked_at: None,
    };
    let sql = Sql::new("INSERT INTO tokens (id, hash, doc) VALUES ($1, $2, $3)");
    let sql = sql.text(token.id).text(blake3::hash(secret.as_bytes()).to_hex());
    let sql = sql.text(to_doc(&token, "tokens")?);
    run(turn.db().await?, sql).await?;
    let data = json!({"token": token.id, "name": token.name, "scopes": token.scopes, "projects": token.projects});
    turn.tell(&About::default(), actor, "token.made", data).await?;
    Ok(MadeToken { token, secret })
}

pub(super) async fn load(store: &Store) -> Result<HashMap<[u8; 32], Token>, StoreError> {
    let mut db = store.reader().await?;
    let all = crate::store::rows(&mut db, Sql::new("SELECT hash, doc FROM tokens")).await?;
    let mut known = HashMap::new();
    for row in all {
        let hash: String =
            row.try_get(0).map_err(|source| StoreError::Query { what: "read", source })?;
        if let Ok(hash) = blake3::Hash::from_hex(&hash) {
            known.insert(*hash.as_bytes(), from_doc(&row, "tokens")?);
        }
    }
    Ok(known)
}
