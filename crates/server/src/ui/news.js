// The server's timeline, followed once for the whole page. Views say what they want to hear of; when the stream comes
// back after a break they are told as well, because what they show may be old.

import { get } from "./api.js";
import { follow } from "./live.js";

const listeners = new Set();
let ending = null;
let state = "closed";

/** Calls `listener(event)` for each event, and `listener(null)` after a break. */
export function hear(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** Runs `refresh` soon after events that `concerns` holds of, and not more than about thrice a second. */
export function refreshOn(concerns, refresh, signal) {
  let timer = null;
  hear((event) => {
    if (timer !== null || (event && !concerns(event))) return;
    timer = setTimeout(() => {
      timer = null;
      if (!signal.aborted) refresh().catch((error) => console.debug("not refreshed", error));
    }, 300);
  }, signal);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}

/** Runs `action` again and again until `signal` ends it. */
export function every(ms, action, signal) {
  const timer = setInterval(action, ms);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

export async function start(changed) {
  stop();
  const mine = new AbortController();
  ending = mine;
  const { newest } = await get("/v1/overview").catch(() => ({}));
  if (mine.signal.aborted) return;
  await follow("/v1/events", {
    last: newest,
    signal: mine.signal,
    told: ({ data }) => tell(JSON.parse(data)),
    changed(now, pause) {
      if (now === "open" && state === "broken") tell(null);
      state = now;
      changed(now, pause);
    },
  }).catch((error) => changed("refused", error));
}

export function stop() {
  ending?.abort();
  ending = null;
  state = "closed";
}

function tell(event) {
  for (const listener of [...listeners]) listener(event);
}
