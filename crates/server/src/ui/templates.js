// Templates of workflows: steps that wait for each other.

import * as api from "./api.js";
import { dag } from "./dag.js";
import { el, empty, link, panel, row, scroller, swap, table } from "./dom.js";
import { form } from "./forms.js";
import { name, nodes } from "./inert.js";
import { modeOf } from "./newtask.js";
import { say } from "./notes.js";
import { editor, maker, remover } from "./resource.js";
import { go } from "./router.js";
import { may } from "./session.js";
import { stepsControl } from "./steps.js";
import { ago, commandOf, quoted } from "./words.js";

const NOUN = { word: "template", path: "/v1/workflow-templates", page: "/templates" };
/** What a template begins with: a step, to be filled in. */
const FIRST = [{ name: "build", task: { execution_mode: "isolated-worktree" } }];

export async function templates({ show, signal }) {
  const [all, projects] = await Promise.all([api.list("/v1/workflow-templates", {}, 200, signal), api.list("/v1/projects", {}, 200, signal)]);
  const names = new Map(projects.map((project) => [project.id, project.name]));
  show(
    "Templates",
    el("h1", "Workflow templates"),
    all.length
      ? panel("All templates", null, table("Templates", ["Name", "Project", "Steps", "Made"], all.map((one) => row(`/templates/${one.id}`, link(`#/templates/${one.id}`, name(one.name)), name(names.get(one.project) ?? one.project), String(one.steps.length), ago(one.created_at)))))
      : empty("There is no template yet. A template is a list of steps that wait for each other."),
    may("submit") && (projects.length ? panel("New template", null, drawn(projects, null, (fields) => maker(NOUN, fields))) : empty("A template belongs to a project.", link("#/projects", "Make a project first"))),
  );
}

/** The form, with what it says drawn above it. `to` puts the fields into a form. */
function drawn(projects, one, to) {
  const preview = scroller("Graph");
  const draw = (steps) => {
    const named = Array.isArray(steps) && steps.filter((step) => step?.name);
    swap(preview, named?.length ? dag(named.map(asDrawn), "Steps as they are written") : el("p.quiet", "Nothing to be drawn yet."));
  };
  const fields = [
    { name: "name", label: "Name", required: true, value: one?.name },
    { name: "project", label: "Project", kind: "select", options: projects.map((project) => [project.id, project.name]), value: one?.project ?? projects[0]?.id },
    { name: "steps", control: stepsControl(one?.steps ?? FIRST, draw) },
  ];
  return el("div.stack", preview, to(fields));
}

/** A step that nothing has happened to yet. */
function asDrawn({ name, depends_on, when }) {
  return { name: String(name), depends_on: Array.isArray(depends_on) ? depends_on : [], when };
}

export async function template({ show, signal, id }) {
  const [one, projects] = await Promise.all([api.get(`/v1/workflow-templates/${id}`, {}, signal), api.list("/v1/projects", {}, 200, signal)]);
  const starting = form({
    fields: [{ name: "title", label: "Title of the run", placeholder: one.name }],
    submit: "Run",
    send: (body) => api.create("/v1/workflow-runs", { ...body, template: id }),
    done(made) {
      say("The run has begun.");
      go(`/workflows/${made.id}`);
    },
  });
  show(
    one.name,
    el("p.crumbs", link("#/templates", "Templates")),
    el("div.title", el("h1", name(one.name)), may("submit") && el("div.actions", remover(NOUN, one, "Its runs stay in the record."))),
    panel("Graph", null, scroller("Graph", dag(one.steps.map(asDrawn), `Steps of ${one.name}`))),
    may("submit") && panel("Run it", null, starting),
    panel("Steps", null, table("Steps", ["Step", "Waits for", "Runs", "Command", "Approval"], one.steps.map((step) => row(null, name(step.name), nodes((step.depends_on ?? []).join(", ")), modeOf(step.task), el("code", nodes(commandOf(step.task).map(quoted).join(" "))), step.task.requires_approval ? "asked first" : "")))),
    may("submit") && panel("Change it", null, drawn(projects, one, (fields) => editor(NOUN, one, fields, () => template({ show, signal, id })))),
  );
}
