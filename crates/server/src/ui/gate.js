// What the gate says of a change set, in sentences.

import { el } from "./dom.js";
import { name, nodes } from "./inert.js";
import { count } from "./words.js";

/** An entry as the page needs it: can it be chosen, and why not or what to know first. */
export function standing(entry) {
  if (entry.verdict === "deny") return { tone: "bad", word: "denied", isOpen: false };
  if (entry.conflict) return { tone: "bad", word: "conflict", isOpen: true };
  if (entry.blocks.length) return { tone: "wait", word: "needs its own yes", isOpen: true };
  return entry.verdict === "auto" ? { tone: "good", word: "auto", isOpen: true } : { tone: "idle", word: "review", isOpen: true };
}

export function sentences(entries) {
  const of = (test) => entries.filter(test);
  const denied = of((entry) => entry.verdict === "deny");
  const blocked = of((entry) => entry.verdict !== "deny" && entry.blocks.length);
  const conflicts = of((entry) => entry.conflict);
  const free = entries.length - denied.length - blocked.length - conflicts.filter((entry) => entry.verdict !== "deny" && !entry.blocks.length).length;
  return el(
    "ul.gate",
    el("li", { class: free ? "good" : "idle" }, free === entries.length ? "Everything can be applied when you say so." : `${count(free, "change")} of ${entries.length} can be applied when you say so.`),
    blocked.length > 0 && el("li.wait", `${count(blocked.length, "change")} will be executed or obeyed later, or looks like a secret, and ${blocked.length === 1 ? "needs a yes of its" : "need a yes of their"} own: `, some(blocked)),
    conflicts.length > 0 && el("li.bad", `${count(conflicts.length, "file")} changed on the host since the run began: `, some(conflicts)),
    denied.length > 0 && el("li.bad", `${count(denied.length, "change")} will never be applied, by rule: `, some(denied)),
  );
}

function some(entries) {
  const shown = entries.slice(0, 3).map((entry, index) => [index ? ", " : "", name(entry.path)]);
  return [shown, entries.length > 3 ? ` and ${entries.length - 3} more` : "", "."];
}
