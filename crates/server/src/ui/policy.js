// Which rules hold for a project and a role, and where each comes from.

import * as api from "./api.js";
import { el, empty, panel, row, swap, table } from "./dom.js";
import { name, nodes } from "./inert.js";
import { problem } from "./notes.js";
import { remember } from "./router.js";

function said(value) {
  if (value === null || value.length === 0) return el("span.quiet", value === null ? "not set" : "none");
  return el("code", nodes(typeof value === "string" ? value : JSON.stringify(value)));
}

export async function policy({ show, signal, query }) {
  const [projects, roles] = await Promise.all([api.list("/v1/projects", {}, 500, signal), api.list("/v1/roles", {}, 500, signal)]);
  const place = el("div");
  const asked = { project: query.project ?? projects[0]?.id ?? "", role: query.role ?? "" };
  const search = el("input", { type: "search", "data-search": true, placeholder: "key or value", oninput: () => narrow() });
  let rules = [];
  const narrow = () => {
    const wanted = search.value.toLowerCase();
    const shown = rules.filter((rule) => `${rule.key} ${JSON.stringify(rule.value)} ${rule.origin}`.toLowerCase().includes(wanted));
    swap(place, table("Rules", ["Setting", "Value", "Comes from"], shown.map((rule) => row(null, el("code", nodes(rule.key)), said(rule.value), name(rule.origin)))));
  };
  const draw = async () => {
    remember(asked);
    try {
      const answer = await api.get(`/v1/projects/${asked.project}/policy`, { role: asked.role }, signal);
      rules = answer.items;
      narrow();
    } catch (error) {
      if (error.name !== "AbortError") swap(place, problem(error));
    }
  };
  const choose = (key, options) => {
    const node = el("select", { name: key, onchange: () => { asked[key] = node.value; draw(); } }, options.map(([value, label]) => el("option", { value }, name(label))));
    node.value = asked[key];
    return node;
  };
  if (projects.length) await draw();
  show(
    "Policy",
    el("h1", "Effective policy"),
    projects.length
      ? [
          el("div.filter", el("label", "Project", choose("project", projects.map((one) => [one.id, one.name]))), el("label", "Role", choose("role", [["", "the project's own"], ...roles.map((one) => [one.name, one.name])])), el("label", "Search", search)),
          panel("Rules that hold", null, place),
        ]
      : empty("Policy belongs to a project, and there is none yet."),
  );
}
