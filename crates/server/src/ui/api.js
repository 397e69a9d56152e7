// The public API, and nothing but it. Answers that say no are thrown as [`Problem`]; one about the token ends the session.

import * as session from "./session.js";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `The server answered ${status}.`);
    this.status = status;
    this.title = body.title ?? "Refused";
    this.field = body.field ?? null;
    this.rule = body.rule ?? null;
    this.remedy = body.remedy ?? null;
    this.requestId = body.request_id ?? null;
  }

  /** The server was not reached at all. */
  get isUnreachable() {
    return this.status === 0;
  }
}

export function address(path, query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/** Sends a request with the token; the answer as it is, if it is a yes. */
export async function request(method, path, { query, body, headers, signal } = {}) {
  const asked = { ...headers };
  if (session.secret()) asked.Authorization = `Bearer ${session.secret()}`;
  if (body !== undefined) asked["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(address(path, query), {
      method,
      headers: asked,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { title: "Not reached", detail: "The server cannot be reached." });
  }
  if (answer.ok) return answer;
  const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
  if (answer.status === 401) session.end("Your token is no longer valid. Sign in again to go on where you were.");
  throw problem;
}

async function json(answer) {
  return answer.status === 204 ? null : answer.json();
}

export async function get(path, query, signal) {
  return json(await request("GET", path, { query, signal }));
}

/** A create can be sent twice without being done twice. */
export async function create(path, body) {
  return json(await request("POST", path, { body, headers: { "Idempotency-Key": randomKey() } }));
}

export async function post(path, body) {
  return json(await request("POST", path, { body }));
}

export async function replace(path, body, version) {
  return json(await request("PUT", path, { body, headers: { "If-Match": `"${version}"` } }));
}

export async function remove(path, version) {
  const headers = version === undefined ? {} : { "If-Match": `"${version}"` };
  return json(await request("DELETE", path, { headers }));
}

/** Of a list that goes over pages, the first `most` items. */
export async function list(path, query = {}, most = 200, signal) {
  const items = [];
  let after;
  do {
    const page = await get(path, { limit: Math.min(100, most - items.length), ...query, after: after ?? query.after }, signal);
    items.push(...page.items);
    after = page.next;
  } while (after && items.length < most);
  return items;
}

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
