// Who is signed in. The token is kept in this module's memory, or, if its owner asks for that, in the session storage
// of this tab, which ends with the tab. It is never written where another tab or a later day could find it.

const KEY = "cofferdam.token";
const ended = new Set();
let token = null;

/** What `/v1/me` said: actor, scopes, projects. */
export let me = null;

export function secret() {
  return token;
}

/** A token that this tab was asked to keep. */
export function kept() {
  return sessionStorage.getItem(KEY);
}

export function begin(secretText, answer, keep) {
  token = secretText;
  me = answer;
  if (keep) sessionStorage.setItem(KEY, secretText);
}

/** For the one request that finds out whether a token is good. */
export function attempt(secretText) {
  token = secretText;
}

export function end(reason) {
  const was = me;
  token = null;
  me = null;
  sessionStorage.removeItem(KEY);
  if (was) for (const listener of ended) listener(reason);
}

export function onEnd(listener) {
  ended.add(listener);
}

/** Whether one of the scopes is held. The server decides; this only keeps away buttons that would not work. */
export function may(...scopes) {
  return Boolean(me) && [...scopes, "admin"].some((scope) => me.scopes?.includes(scope));
}
