// Server-sent events, by fetch: the browser's own reader of them cannot send a token. A stream that breaks is taken up
// again where it stopped, by `Last-Event-ID`, after a pause that grows.

import { Problem, address, request } from "./api.js";

const PAUSES = [300, 600, 1200, 2500, 5000];

/**
 * Follows a stream until `signal` ends it, or the server says that it is over (`end`), or no (4xx).
 * `told` gets `{ id, kind, data }`; `changed` gets "open", or "broken" with the time until the next try.
 */
export async function follow(path, { query, last, signal, told, changed = () => {} }) {
  let failures = 0;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream" };
      if (last !== undefined && last !== null) headers["Last-Event-ID"] = String(last);
      const answer = await request("GET", address(path, query), { headers, signal });
      failures = 0;
      changed("open");
      for await (const message of messages(answer.body)) {
        if (message.id) last = message.id;
        if (message.kind === "end") return;
        told(message);
      }
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      console.debug("stream broken", error);
    }
    if (signal.aborted) return;
    const pause = PAUSES[Math.min(failures++, PAUSES.length - 1)];
    changed("broken", pause);
    await rest(pause, signal);
  }
}

/** Waits, and no longer than until the network is back or the stream is no longer wanted. */
function rest(pause, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, pause);
    addEventListener("online", done);
    signal.addEventListener("abort", done, { once: true });
  });
}

async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let message = { id: null, kind: "message", data: [] };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (message.data.length) yield { ...message, data: message.data.join("\n") };
        message = { id: null, kind: "message", data: [] };
        continue;
      }
      const colon = line.indexOf(":");
      // A remark keeps the line open; this one says that nothing will follow.
      if (colon === 0 && line === ": end") yield { id: null, kind: "end", data: "" };
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") message.data.push(text);
      else if (field === "id") message.id = text;
      else if (field === "event") message.kind = text;
    }
  }
}
