// Runs of workflows: drawn, live, answered and steered in place.

import * as api from "./api.js";
import { dag } from "./dag.js";
import { button, el, empty, link, panel, renew, row, scroller, swap, table } from "./dom.js";
import { name } from "./inert.js";
import { refreshOn } from "./news.js";
import { dangerous, dialog, perform } from "./notes.js";
import { question } from "./approvals.js";
import { go } from "./router.js";
import { may } from "./session.js";
import { ago, badge, count, duration, short, stepState } from "./words.js";

const DONE = ["succeeded", "failed", "aborted"];

export async function workflows({ show, signal }) {
  const place = el("div");
  const draw = async () => {
    const [runs, templates] = await Promise.all([api.list("/v1/workflow-runs", {}, 200, signal), api.list("/v1/workflow-templates", {}, 200, signal)]);
    if (signal.aborted) return;
    const names = new Map(templates.map((one) => [one.id, one.name]));
    swap(
      place,
      runs.length
        ? table("Workflow runs", ["Run", "State", "Steps", "Began", "Took"], runs.map((run) => row(`/workflows/${run.id}`, link(`#/workflows/${run.id}`, name(titleOf(run, names))), badge(run.state), progress(run), ago(run.created_at), duration((Date.parse(run.finished_at) || Date.now()) - Date.parse(run.created_at)))))
        : empty("No workflow has been run.", link("#/templates", templates.length ? "Choose a template to run" : "Make a template first")),
    );
  };
  await draw();
  show("Workflows", el("div.title", el("h1", "Workflow runs"), el("a.button", { href: "#/templates" }, "Templates")), place);
  refreshOn((event) => event.workflow_run, draw, signal);
}

function titleOf(run, names) {
  return run.title || names.get(run.template) || `run ${short(run.id)}`;
}

function progress(run) {
  const over = run.steps.filter((step) => ["skipped", "reused"].includes(step.state) || ["succeeded", "failed", "timed_out", "canceled", "lost"].includes(step.task_state)).length;
  return `${over} of ${run.steps.length}`;
}

export async function workflow({ show, signal, id }) {
  const path = `/v1/workflow-runs/${id}`;
  const head = el("div.stack");
  const graph = scroller("Graph");
  const asks = el("div");
  const steps = el("div");
  let title = "";
  const draw = async () => {
    const run = await api.get(path, {}, signal);
    const waiting = run.steps.some((step) => step.task_state === "awaiting_approval");
    const mine = new Set(run.steps.map((step) => step.task));
    const [template, asked] = await Promise.all([api.get(`/v1/workflow-templates/${run.template}`, {}, signal).catch(() => null), waiting ? api.list("/v1/approvals", { state: "pending" }, 200, signal) : []]);
    if (signal.aborted) return;
    title = run.title || template?.name || `run ${short(run.id)}`;
    renew(head, run, () => heading(run, title, draw));
    renew(graph, run.steps, () => dag(run.steps, `Steps of ${title}`));
    renew(asks, asked, () => asked.filter((approval) => mine.has(approval.task) && approval.state === "pending").map((approval) => question(approval, draw)));
    renew(steps, run.steps, () => table("Steps", ["Step", "State", "Waits for", "When"], run.steps.map((step) => row(step.task ? `/tasks/${step.task}` : null, step.task ? link(`#/tasks/${step.task}`, name(step.name)) : name(step.name), badge(stepState(step)), step.depends_on.map((other, index) => [index ? ", " : "", name(other)]), step.when.replaceAll("_", " ")))));
  };
  await draw();
  show(title, head, asks, panel("Graph", null, graph), panel("Steps", null, steps));
  refreshOn((event) => event.workflow_run === id, draw, signal);
}

function heading(run, title, again) {
  const act = (verb, said) => (event) => perform(event.currentTarget, () => api.post(`/v1/workflow-runs/${run.id}/${verb}`), said).then(again);
  return [
    el("p.crumbs", link("#/workflows", "Workflows"), " / ", link(`#/templates/${run.template}`, "template"), run.of && [" / repeats ", link(`#/workflows/${run.of}`, short(run.of))]),
    el(
      "div.title",
      el("h1", name(title), " ", badge(run.state)),
      may("submit") &&
        el(
          "div.actions",
          run.state === "running" && button("Pause", act("pause", "Paused: what runs goes on.")),
          run.state === "paused" && button("Resume", act("resume", "Goes on."), { class: "primary" }),
          !DONE.includes(run.state) && dangerous("Abort", "Abort this run?", "What runs is stopped, and no further step begins.", () => api.post(`/v1/workflow-runs/${run.id}/abort`), again),
          DONE.includes(run.state) && button("Run again from…", () => rerun(run)),
        ),
    ),
    el("p.meta", el("span", "by ", name(run.actor)), el("span", ago(run.created_at)), el("span", count(run.steps.length, "step"))),
  ];
}

/** Some steps again, with what depends on them. */
async function rerun(run) {
  const only = await dialog("Which steps again?", (close) => {
    const boxes = run.steps.map((step) => el("input", { type: "checkbox", value: step.name, checked: ["failed", "timed_out", "lost"].includes(step.task_state) }));
    return el(
      "form.stack",
      { onsubmit: (event) => { event.preventDefault(); close(boxes.filter((box) => box.checked).map((box) => box.value)); } },
      el("p", "What depends on them is done again as well; the rest is taken over."),
      run.steps.map((step, index) => el("label.check", boxes[index], name(step.name))),
      el("div.actions", el("button", { type: "submit", class: "primary" }, "Run"), button("Back", () => close(null))),
    );
  });
  if (!only?.length) return;
  const made = await perform(null, () => api.post(`/v1/workflow-runs/${run.id}/rerun`, { only }), "The run is made.");
  if (made) go(`/workflows/${made.id}`);
}
