// Questions that wait for a person, answered where they stand.

import * as api from "./api.js";
import { button, el, empty, link, panel, renew, row, table } from "./dom.js";
import { name, nodes } from "./inert.js";
import { bind } from "./keys.js";
import { refreshOn } from "./news.js";
import { confirm, perform } from "./notes.js";
import { may } from "./session.js";
import { ago, badge } from "./words.js";

export async function approvals({ show, signal }) {
  const place = el("div.stack");
  const draw = async () => {
    const all = await api.list("/v1/approvals", {}, 200, signal);
    if (signal.aborted) return;
    const open = all.filter((approval) => approval.state === "pending");
    const done = all.filter((approval) => approval.state !== "pending");
    renew(
      place,
      all,
      () => panel("Waiting", null, open.length ? open.map((approval) => question(approval, draw)) : empty("Nothing waits for an answer.")),
      () => done.length > 0 && panel("Answered", null, table("Answered", ["Question", "Answer", "By", "Comment", "When"], done.map((approval) => row(`/tasks/${approval.task}`, link(`#/tasks/${approval.task}`, nodes(approval.question)), badge(approval.state), name(approval.actor ?? ""), nodes(approval.comment ?? ""), ago(approval.decided_at))))),
    );
  };
  await draw();
  show("Approvals", el("h1", "Approvals"), place);
  refreshOn((event) => event.type.startsWith("approval.") || event.type.startsWith("task."), draw, signal);
  const at = () => place.querySelector(".ask.at") ?? place.querySelector(".ask");
  bind("a", "approve the question you stand on, or the first", () => at()?.querySelector(".primary")?.click(), signal);
  bind("d", "reject it", () => at()?.querySelector(".danger")?.click(), signal);
}

/** One question with its answers. `again` is called when it was answered. */
export function question(approval, again) {
  const decide = (verb, title, tone) => async (event) => {
    const pressed = event.currentTarget;
    const said = await confirm(title, el("span.question", nodes(approval.question, "\n")), title, { comment: "Comment (kept in the audit)", tone });
    if (!said) return;
    const answer = await perform(pressed, () => api.post(`/v1/approvals/${approval.id}/${verb}`, { comment: said.comment }), (answer) => `${answer?.state ?? verb}: ${approval.question.split("\n")[0].slice(0, 120)}`);
    if (answer !== undefined) await again();
  };
  return el(
    "div.ask",
    { "data-row": `/tasks/${approval.task}` },
    el("p.question", badge("pending", "asks"), " ", nodes(approval.question, "\n")),
    el("p.quiet.small", ago(approval.created_at), ", ", link(`#/tasks/${approval.task}`, "see the task"), "; a yes is bound to exactly this request, ", el("code", { title: approval.subject }, String(approval.subject).slice(0, 12))),
    may("review")
      ? el("div.actions", button("Approve", decide("approve", "Approve", "primary"), { class: "primary" }), button("Reject", decide("reject", "Reject", "danger"), { class: "danger" }))
      : el("p.quiet.small", "Your token may not answer this."),
  );
}
