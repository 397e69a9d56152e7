// The timeline: of everything, or of one task. The chain of hashes is checked by the server when it is asked.

import * as api from "./api.js";
import { button, el, empty, panel, swap } from "./dom.js";
import { nodes } from "./inert.js";
import { hear } from "./news.js";
import { perform } from "./notes.js";
import { remember } from "./router.js";
import { ago, clock, count, short } from "./words.js";

export async function events({ show, signal, query }) {
  let kind = query.kind ?? "";
  const place = el("div");
  let newest = [];
  const draw = () => swap(place, list(newest.filter((event) => event.type.includes(kind)).slice(-500).reverse(), true));
  const sums = await api.get("/v1/overview", {}, signal);
  newest = await api.list("/v1/events", { after: Math.max(0, (sums.newest ?? 0) - 300) }, 300, signal);
  draw();
  hear((event) => {
    if (event) newest.push(event);
    if (newest.length > 2000) newest.splice(0, 1000);
    draw();
  }, signal);
  const search = el("input", {
    type: "search",
    "data-search": true,
    value: kind,
    placeholder: "kind, as task.failed",
    oninput() {
      kind = search.value.trim();
      remember({ kind });
      draw();
    },
  });
  show("Events", el("div.title", el("h1", "Events"), verification()), el("div.filter", el("label", "Search", search)), panel("Newest first", null, place));
}

let verified = null;

/** Whether the whole chain was verified, when, and what came of it; and a button to have that done. */
export function verification() {
  const verdict = el("span.quiet", { role: "status" });
  const tell = () => {
    if (!verified) return swap(verdict, "not verified since you came");
    const { answer, at } = verified;
    const label = answer.holds ? "✓ the chain holds" : `✕ the chain is broken at event ${answer.broken_seq}`;
    swap(verdict, el("span", { class: `badge ${answer.holds ? "good" : "bad"}`, title: `its end: ${answer.head}` }, label), ` ${count(answer.events, "event")}, `, ago(at), answer.broken && nodes(`: ${answer.broken}`));
  };
  const check = button("Verify the chain", () =>
    perform(check, async () => {
      verified = { answer: await api.get("/v1/audit/verify"), at: new Date().toISOString() };
      tell();
    }),
  );
  tell();
  return el("div.actions", verdict, check);
}

export function list(items, withTask) {
  if (!items.length) return empty("Nothing has happened yet.");
  return el("ol.timeline", items.map((event) => line(event, withTask)));
}

function line(event, withTask) {
  const data = event.data && Object.keys(event.data).length ? event.data : null;
  return el(
    "li",
    { class: tone(event.type) },
    clock(event.ts),
    el("b", nodes(event.type)),
    el("span.quiet", nodes(event.actor), event.attempt ? `, attempt ${event.attempt}` : ""),
    withTask && event.task && el("a", { href: `#/tasks/${event.task}` }, short(event.task)),
    el("code.hash", { title: `event ${event.seq}: ${event.hash}, after ${event.prev}` }, `#${event.seq} ${String(event.hash).slice(0, 8)}`),
    data && el("details", el("summary", nodes(gist(data))), el("pre", nodes(JSON.stringify(data, null, 2), "\n"))),
  );
}

/** The first things that an event says, on one line. */
function gist(data) {
  const said = Object.entries(data).filter(([, value]) => value !== null && typeof value !== "object");
  const text = said.map(([key, value]) => `${key}: ${value}`).join(", ");
  return text.length > 90 ? `${text.slice(0, 90)}…` : text || "more";
}

function tone(kind) {
  if (/failed|rejected|refused|lost|violation|oom|timeout|timed_out/.test(kind)) return "bad";
  if (/succeeded|approved|applied|stopped/.test(kind)) return "good";
  return /approval|cancel|conflict/.test(kind) ? "wait" : "";
}

