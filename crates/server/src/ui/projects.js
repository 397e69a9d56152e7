// Projects: where tasks work, and what of the host they may see beside it.

import * as api from "./api.js";
import { el, empty, facts, link, panel, row, table } from "./dom.js";
import { name } from "./inert.js";
import { editor, maker, remover } from "./resource.js";
import { may } from "./session.js";
import { ago, badge, taskLink } from "./words.js";

const NOUN = { word: "project", path: "/v1/projects", page: "/projects" };

function fieldsOf(roles, project = {}) {
  return [
    { name: "name", label: "Name", required: true, value: project.name },
    { name: "root_path", label: "Root", required: true, value: project.root_path, placeholder: "/srv/shop", hint: "An absolute path on the runners' host." },
    { name: "allowed_paths", label: "Mounts may come from", kind: "lines", value: (project.allowed_paths ?? []).join("\n"), hint: "Absolute paths beside the root, one on a line." },
    { name: "max_running", label: "Running at once, at most", kind: "number", value: project.max_running },
    { name: "default_role", label: "Role of tasks that name none", kind: "select", options: [["", "none"], ...roles.filter((role) => !role.project || role.project === project.id).map((role) => [role.name, role.name])], value: project.default_role ?? "" },
  ];
}

export async function projects({ show, signal }) {
  const [all, roles] = await Promise.all([api.list("/v1/projects", {}, 500, signal), api.list("/v1/roles", {}, 500, signal)]);
  show(
    "Projects",
    el("h1", "Projects"),
    all.length
      ? panel("All projects", null, table("Projects", ["Name", "Root", "Role", "At once", "Made"], all.map((one) => row(`/projects/${one.id}`, link(`#/projects/${one.id}`, name(one.name)), el("code", name(one.root_path)), name(one.default_role ?? ""), one.max_running ?? "", ago(one.created_at)))))
      : empty("There is no project yet. A project is a directory that tasks may work in."),
    may() && panel("New project", null, maker(NOUN, fieldsOf(roles))),
  );
}

export async function project({ show, signal, id }) {
  const [one, recent, roles] = await Promise.all([api.get(`/v1/projects/${id}`, {}, signal), api.list("/v1/tasks", { project: id }, 10, signal), api.list("/v1/roles", {}, 500, signal)]);
  show(
    one.name,
    el("p.crumbs", link("#/projects", "Projects")),
    el("div.title", el("h1", name(one.name)), el("div.actions", may("submit") && el("a.button.primary", { href: `#/tasks/new?project=${id}` }, "New task"), el("a.button", { href: `#/policy?project=${id}` }, "Policy"), may() && remover(NOUN, one, "Its tasks stay in the record. The directory is not touched."))),
    el(
      "div.grid",
      may()
        ? panel("Settings", null, editor(NOUN, one, fieldsOf(roles, one), () => project({ show, signal, id })))
        : panel("Settings", null, facts([["Root", el("code", name(one.root_path))], ["Allowed", one.allowed_paths.map((path) => el("div", name(path)))], ["At once", one.max_running]])),
      panel("Latest tasks", link(`#/tasks?project=${id}`, "All"), recent.length ? table("Tasks", ["Task", "State", "Made"], recent.map((task) => row(`/tasks/${task.id}`, taskLink(task), badge(task.state), ago(task.created_at)))) : empty("It has no tasks yet.")),
    ),
  );
}
