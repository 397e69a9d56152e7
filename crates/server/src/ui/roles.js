// Roles: what tasks begin with, and may ask for at most.

import * as api from "./api.js";
import { el, empty, link, panel, row, table } from "./dom.js";
import { name, nodes } from "./inert.js";
import { editor, maker, remover } from "./resource.js";
import { may } from "./session.js";

const NOUN = { word: "role", path: "/v1/roles", page: "/roles" };

function fieldsOf(projects, role = {}) {
  const lines = (values) => Object.entries(values ?? {}).map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n");
  return [
    { name: "name", label: "Name", required: true, value: role.name },
    { name: "project", label: "Project", kind: "select", options: [["", "every project"], ...projects.map((project) => [project.id, project.name])], value: role.project ?? "" },
    { name: "settings", label: "Settings that tasks begin with", kind: "values", value: lines(role.settings), hint: "As sandbox.network: none, one on a line." },
    { name: "ceiling", label: "Ceilings", kind: "values", value: lines(role.ceiling), hint: "As memory_limit: 4g, one on a line; also cpu_limit, pids_limit, timeout, network, mode, allowed_paths. More is refused." },
    { name: "overridable", label: "May be overridden with a reason", kind: "lines", value: (role.overridable ?? []).join("\n"), hint: "Configuration keys, one on a line." },
  ];
}

export async function roles({ show, signal }) {
  const [all, projects] = await Promise.all([api.list("/v1/roles", {}, 500, signal), api.list("/v1/projects", {}, 500, signal)]);
  const names = new Map(projects.map((project) => [project.id, project.name]));
  const some = (values) => nodes(Object.keys(values).join(", "));
  show(
    "Roles",
    el("h1", "Roles"),
    all.length
      ? panel("All roles", null, table("Roles", ["Name", "Project", "Settings", "Ceilings"], all.map((one) => row(`/roles/${one.id}`, link(`#/roles/${one.id}`, name(one.name)), name(one.project ? (names.get(one.project) ?? one.project) : "every project"), some(one.settings), some(one.ceiling)))))
      : empty("There is no role yet. Tasks run with the host's own settings."),
    may() && panel("New role", null, maker(NOUN, fieldsOf(projects))),
  );
}

export async function role({ show, signal, id }) {
  const [one, projects] = await Promise.all([api.get(`/v1/roles/${id}`, {}, signal), api.list("/v1/projects", {}, 500, signal)]);
  show(
    one.name,
    el("p.crumbs", link("#/roles", "Roles")),
    el("div.title", el("h1", name(one.name)), el("div.actions", may() && remover(NOUN, one, "Tasks that name it are refused from then on."))),
    may()
      ? panel("Settings", null, editor(NOUN, one, fieldsOf(projects, one), () => role({ show, signal, id })))
      : panel("Settings", null, el("pre", nodes(JSON.stringify(one, null, 2), "\n"))),
  );
}
