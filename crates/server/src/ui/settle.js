// The question before changes are applied or discarded, and what came of it, in the server's words.

import { button, el } from "./dom.js";
import { name, nodes } from "./inert.js";
import { dialog, say } from "./notes.js";
import { count } from "./words.js";

/** Both names of what was moved: with one applied and the other left there would be two of it. */
const names = ({ from, from_b64: isNoText, path }) => (from && !isNoText ? [from, path] : [path]);

/** Asks; requests to be made one after the other, as `[verb, body]`. None where the user thinks better of it. */
export async function settle(verb, entries, partly, isLarge) {
  // Hunks are applied; what is discarded is a whole file.
  const parts = verb === "apply" ? partly : [];
  const all = [...entries, ...parts.map((part) => part.entry)];
  if (!all.length) {
    say(partly.length ? "Hunks cannot be discarded by themselves: choose whole files." : "Nothing is chosen that could be applied or discarded.", "wait");
    return [];
  }
  const blocked = verb === "apply" ? all.filter((entry) => entry.blocks.length) : [];
  const conflicts = verb === "apply" ? all.filter((entry) => entry.conflict) : [];
  const clashes = new Map(conflicts.map((entry) => [entry.path, "merge"]));
  const answers = { ...(isLarge && { budget: "allow" }), ...Object.fromEntries(blocked.flatMap(names).map((path) => [`./${path}`, "allow"])) };
  const isAgreed = await dialog(verb === "apply" ? `Apply ${count(all.length, "change")}?` : `Discard ${count(all.length, "change")}?`, (close) => {
    const yes = el("button", { type: "submit", class: verb === "apply" ? "primary" : "danger", autofocus: true }, verb === "apply" ? "Apply" : "Discard");
    return el(
      "form.stack",
      { onsubmit: (event) => { event.preventDefault(); close(true); } },
      el("ul.some", entries.slice(0, 12).map((entry) => el("li", name(entry.path))), parts.map(({ entry, numbers }) => el("li", name(entry.path), `, hunk ${numbers.join(", ")}`)), entries.length > 12 && el("li", `and ${entries.length - 12} more`)),
      verb === "discard" && el("p", "What is discarded cannot be brought back."),
      blocked.length > 0 && el(
        "fieldset.blocked",
        el("legend", "These need a yes of their own"),
        el("ul", blocked.map((entry) => el("li", name(entry.path), el("ul", entry.blocks.map((reason) => el("li", nodes(reason))))))),
        el("label.check", el("input", { type: "checkbox", required: true }), "I have read them and want them applied"),
      ),
      verb === "apply" && isLarge && el("fieldset.blocked", el("legend", "This is more than the budget allows at once"), el("label.check", el("input", { type: "checkbox", required: true }), "I want it applied all the same")),
      conflicts.length > 0 && clash(conflicts, clashes),
      el("div.actions", yes, button("Back", () => close(null))),
    );
  });
  if (!isAgreed) return [];
  if (verb === "discard") return [["discard", { paths: entries.flatMap(names) }]];
  const isTaken = ({ path }) => (clashes.get(path) ?? "merge") === "merge";
  const paths = entries.filter(isTaken).flatMap(names);
  const taken = parts.filter(({ entry }) => isTaken(entry));
  const hunks = Object.fromEntries(taken.map(({ entry, numbers }) => [entry.path, numbers]));
  const marks = Object.fromEntries(taken.filter(({ mark }) => mark).map(({ entry, mark }) => [entry.path, mark]));
  for (const [path, said] of clashes) if (said === "merge") answers[path] ??= "merge";
  const kept = conflicts.filter(({ path }) => clashes.get(path) === "keep").flatMap(names);
  const isAny = paths.length > 0 || Object.keys(hunks).length > 0;
  if (!isAny && !kept.length) say("Nothing is done: all of it is left for later.", "wait");
  return [...(isAny ? [["apply", { paths, hunks, marks, reviewed: true, answers }]] : []), ...(kept.length ? [["discard", { paths: kept }]] : [])];
}

const WAYS = [["merge", "merge both, where they do not touch"], ["keep", "keep the host's, discard this change"], ["later", "decide later"]];

/** Files that somebody changed on the host while the run went on. What the host has is never overwritten. */
function clash(entries, clashes) {
  return el(
    "fieldset.blocked",
    el("legend", "These changed on the host meanwhile"),
    entries.map(({ path }) => {
      const way = el("select", { onchange: () => clashes.set(path, way.value) }, WAYS.map(([value, label]) => el("option", { value }, label)));
      return el("label.clash", name(path), way);
    }),
    el("p.quiet.small", "Where both changed the same lines nothing is applied, and you are told."),
  );
}

/** What the server says it did. */
export function outcome(verb, answer) {
  const refused = answer.refused ?? [];
  const isRefused = answer.outcome === "refused";
  return el(
    "div",
    { class: isRefused ? "problem" : "remark good" },
    el("strong", sentence(verb, answer, isRefused)),
    refused.length > 0 && el("ul", refused.map((one) => el("li", name(one.path), ": ", nodes(one.why), one.reasons?.length ? [" – ", nodes(one.reasons.join("; "))] : ""))),
    verb === "apply" && !isRefused && answer.outcome !== "nothing" && el("p.quiet", "Undo takes it back."),
  );
}

function sentence(verb, answer, isRefused) {
  if (isRefused) return verb === "undo" ? "Nothing was taken back." : "Nothing was applied.";
  if (verb === "undo") return `Took back ${count(answer.entries ?? 0, "change")}; pending again.`;
  if (verb === "discard") return `Discarded ${count(answer.discarded ?? 0, "change")}; ${answer.left ?? 0} left.`;
  if (answer.outcome === "nothing") return `Nothing was applied${answer.left ? `; ${answer.left} left pending` : ""}.`;
  const parts = ["created", "modified", "deleted", "retyped"].filter((kind) => answer.changes?.[kind]).map((kind) => `${answer.changes[kind]} ${kind}`);
  const rest = [answer.merged && `${answer.merged} merged`, answer.left && `${answer.left} left pending`].filter(Boolean);
  return `Applied: ${[...(parts.length ? parts : ["nothing"]), ...rest].join(", ")}.`;
}
