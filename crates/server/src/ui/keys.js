// The keyboard. Letters act only where nothing is being typed; a view adds its own keys for as long as it is shown.

import { el } from "./dom.js";
import { dialog } from "./notes.js";
import { go } from "./router.js";

const GOES = { o: ["/", "overview"], t: ["/tasks", "tasks"], a: ["/approvals", "approvals"], w: ["/workflows", "workflows"], p: ["/projects", "projects"], r: ["/runners", "runners"] };
const own = new Map();
// The clock begins with the page: 0 would be a moment ago.
const NEVER = -Infinity;
let went = NEVER;

/** `bind("a", "approve", f, signal)`: for as long as the view is there. */
export function bind(key, meaning, action, signal) {
  own.set(key, { meaning, action });
  signal.addEventListener("abort", () => own.get(key)?.action === action && own.delete(key), { once: true });
}

export function start() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.closest?.("dialog")) return;
    if (target.matches?.("input, textarea, select")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const goesTo = performance.now() - went < 1200 && GOES[event.key];
    went = event.key === "g" ? performance.now() : NEVER;
    const bound = own.get(event.key);
    if (goesTo) go(goesTo[0]);
    else if (bound) bound.action(event);
    else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (event.key === "Enter" && !target.matches("a, button, summary")) open();
    else if (event.key === "/") search();
    else if (event.key === "?") help();
    else return;
    event.preventDefault();
  });
}

function rows() {
  return [...document.querySelectorAll("#main [data-row]")];
}

function chosen() {
  return document.querySelector("#main [data-row].at");
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(chosen());
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  for (const other of all) other.classList.toggle("at", other === next);
  next.setAttribute("tabindex", "-1");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function open() {
  const href = chosen()?.getAttribute("data-row");
  if (href) go(href);
}

function search() {
  const field = document.querySelector("#main [data-search]");
  if (!field) return;
  field.closest("details")?.setAttribute("open", "");
  field.focus();
  field.select();
}

export function help() {
  if (document.querySelector("dialog")) return;
  const keys = [
    ["j  k", "next and previous row"],
    ["Enter", "open the row"],
    ["/", "search; Esc leaves the field"],
    ["?", "this list"],
    ...Object.entries(GOES).map(([key, [, name]]) => [`g ${key}`, `go to ${name}`]),
    ...[...own].map(([key, { meaning }]) => [key === " " ? "Space" : key, meaning]),
  ];
  dialog("Keys", () =>
    el("dl.facts.keys", keys.map(([key, meaning]) => [el("dt", el("kbd", key)), el("dd", meaning)])),
  );
}
