// The question before changes are applied or discarded, and what came of it, in the server's words.

import { button, el } from "./dom.js";
import { name, nodes } from "./inert.js";
import { dialog, say } from "./notes.js";
import { count } from "./words.js";

/** Asks; the body of the request, or null where the user thinks better of it. */
export async function settle(verb, entries, partly, isLarge) {
  // Hunks are applied; what is discarded is a whole file.
  const parts = verb === "apply" ? partly : [];
  const all = [...entries, ...parts.map((part) => part.entry)];
  if (!all.length) {
    say(partly.length ? "Hunks cannot be discarded by themselves: choose whole files." : "Nothing is chosen that could be applied or discarded.", "wait");
    return null;
  }
  const blocked = verb === "apply" ? all.filter((entry) => entry.blocks.length) : [];
  const conflicts = verb === "apply" ? all.filter((entry) => entry.conflict) : [];
  const answers = { ...(isLarge && { budget: "allow" }), ...Object.fromEntries(blocked.map((entry) => [`./${entry.path}`, "allow"])) };
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
      conflicts.length > 0 && clash(conflicts, answers),
      el("div.actions", yes, button("Back", () => close(null))),
    );
  });
  if (!isAgreed) return null;
  const paths = entries.map((entry) => entry.path);
  if (verb === "discard") return { paths };
  const hunks = Object.fromEntries(parts.map(({ entry, numbers }) => [entry.path, numbers]));
  return { paths, hunks, reviewed: true, answers };
}

/** Files that somebody changed on the host while the run went on. */
function clash(entries, answers) {
  const merge = el("input", { type: "checkbox", checked: true, onchange: () => answer() });
  const answer = () => {
    for (const { path } of entries) {
      if (merge.checked) answers[path] = "merge";
      else delete answers[path];
    }
  };
  answer();
  return el(
    "fieldset.blocked",
    el("legend", "These changed on the host meanwhile"),
    el("ul", entries.map((entry) => el("li", name(entry.path)))),
    el("label.check", merge, "Merge both, where they do not touch"),
    el("p.quiet.small", "Where they touch, nothing is applied."),
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
    verb === "apply" && !isRefused && el("p.quiet", "Undo takes it back."),
  );
}

function sentence(verb, answer, isRefused) {
  if (isRefused) return verb === "undo" ? "Nothing was taken back." : "Nothing was applied.";
  if (verb === "undo") return `Took back ${count(answer.entries ?? 0, "change")}; pending again.`;
  if (verb === "discard") return `Discarded ${count(answer.discarded ?? 0, "change")}; ${answer.left ?? 0} left.`;
  const parts = ["created", "modified", "deleted", "retyped"].filter((kind) => answer.changes?.[kind]).map((kind) => `${answer.changes[kind]} ${kind}`);
  const rest = [answer.merged && `${answer.merged} merged`, answer.left && `${answer.left} left pending`].filter(Boolean);
  return `Applied: ${[...(parts.length ? parts : ["nothing"]), ...rest].join(", ")}.`;
}
