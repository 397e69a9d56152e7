// Templates of workflows: steps that wait for each other.

import * as api from "./api.js";
import { dag } from "./dag.js";
import { button, el, empty, link, panel, row, scroller, swap, table } from "./dom.js";
import { name, nodes } from "./inert.js";
import { perform } from "./notes.js";
import { editor, maker, remover } from "./resource.js";
import { go } from "./router.js";
import { may } from "./session.js";
import { ago, commandOf } from "./words.js";

const NOUN = { word: "template", path: "/v1/workflow-templates", page: "/templates" };
const EXAMPLE = [
  { name: "build", task: { execution_mode: "isolated-worktree", command: ["make"] } },
  { name: "test", depends_on: ["build"], task: { execution_mode: "isolated-worktree", command: ["make", "test"] } },
  { name: "publish", depends_on: ["test"], task: { execution_mode: "isolated-worktree", command: ["make", "publish"], requires_approval: true } },
];

export async function templates({ show, signal }) {
  const [all, projects] = await Promise.all([api.list("/v1/workflow-templates", {}, 200, signal), api.list("/v1/projects", {}, 200, signal)]);
  const names = new Map(projects.map((project) => [project.id, project.name]));
  show(
    "Templates",
    el("h1", "Workflow templates"),
    all.length
      ? panel("All templates", null, table("Templates", ["Name", "Project", "Steps", "Made"], all.map((one) => row(`/templates/${one.id}`, link(`#/templates/${one.id}`, name(one.name)), name(names.get(one.project) ?? one.project), String(one.steps.length), ago(one.created_at)))))
      : empty("There is no template yet. A template is a list of steps that wait for each other."),
    may("submit") && (projects.length ? panel("New template", null, making(projects)) : empty("A template belongs to a project.", link("#/projects", "Make a project first"))),
  );
}

function fieldsOf(projects, one) {
  return [
    { name: "name", label: "Name", required: true, value: one?.name },
    { name: "project", label: "Project", kind: "select", options: projects.map((project) => [project.id, project.name]), value: one?.project ?? projects[0]?.id },
    { name: "steps", label: "Steps", kind: "json", rows: 16, value: JSON.stringify(one?.steps ?? EXAMPLE, null, 2), hint: "A list of { name, depends_on, when, task }: a task as the API has it; when is all_succeeded, any_failed or always." },
  ];
}

function making(projects) {
  const preview = scroller("Preview");
  const node = maker(NOUN, fieldsOf(projects));
  const steps = node.querySelector("textarea");
  const draw = () => {
    try {
      swap(preview, dag(JSON.parse(steps.value).map(asDrawn), "Steps as written"));
    } catch {
      swap(preview, el("p.quiet", "Not a list of steps yet."));
    }
  };
  steps.addEventListener("input", draw);
  draw();
  return el("div.stack", preview, node);
}

/** A step that nothing has happened to yet. */
function asDrawn({ name, depends_on, when }) {
  return { name, depends_on: depends_on ?? [], when };
}

export async function template({ show, signal, id }) {
  const [one, projects] = await Promise.all([api.get(`/v1/workflow-templates/${id}`, {}, signal), api.list("/v1/projects", {}, 200, signal)]);
  const starting = button("Run", async () => {
    const made = await perform(starting, () => api.create("/v1/workflow-runs", { template: id }), "The run has begun.");
    if (made) go(`/workflows/${made.id}`);
  }, { class: "primary" });
  const drawn = one.steps.map(asDrawn);
  show(
    one.name,
    el("p.crumbs", link("#/templates", "Templates")),
    el("div.title", el("h1", name(one.name)), may("submit") && el("div.actions", starting, remover(NOUN, one, "Its runs stay in the record."))),
    panel("Graph", null, scroller("Graph", dag(drawn, `Steps of ${one.name}`))),
    panel("Steps", null, table("Steps", ["Step", "Waits for", "Mode", "Command", "Approval"], one.steps.map((step) => row(null, name(step.name), nodes((step.depends_on ?? []).join(", ")), step.task.execution_mode, el("code", nodes(commandOf(step.task).join(" "))), step.task.requires_approval ? "asked first" : "")))),
    may("submit") && editor(NOUN, one, fieldsOf(projects, one), () => template({ show, signal, id })),
  );
}
