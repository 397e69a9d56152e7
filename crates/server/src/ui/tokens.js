// Tokens: made, shown once, revoked.

import * as api from "./api.js";
import { button, el, empty, panel, row, swap, table } from "./dom.js";
import { form } from "./forms.js";
import { name } from "./inert.js";
import { dangerous, dialog, perform } from "./notes.js";
import { ago, short } from "./words.js";

const SCOPES = [["submit", "submit: reads, makes tasks and workflow runs"], ["review", "review: reads, answers approvals, applies and discards"], ["runner", "runner: claims and reports"], ["admin", "admin: everything"]];

export async function tokens({ show, signal }) {
  const place = el("div");
  const projects = await api.list("/v1/projects", {}, 500, signal);
  const names = new Map(projects.map((project) => [project.id, project.name]));
  const draw = async () => {
    const all = await api.list("/v1/tokens", {}, 1000, signal);
    swap(place, all.length ? table("Tokens", ["Name", "Scopes", "Projects", "Made", "Ends", ""], all.map((token) => line(token, names, draw))) : empty("There are no tokens."));
  };
  await draw();
  const fields = [
    { name: "name", label: "Name", required: true, hint: "Whose it is, or what for; it stands in the audit." },
    { name: "scopes", label: "Scopes", kind: "checks", options: SCOPES, required: true },
    { name: "projects", label: "Only these projects", kind: "checks", options: projects.map((project) => [project.id, project.name]), hint: projects.length ? "None chosen means all." : "There are no projects yet: it will hold for all." },
    { name: "expires_at", label: "Ends", kind: "stamp" },
  ];
  const making = form({
    fields,
    submit: "Make the token",
    send: (body) => api.create("/v1/tokens", { ...body, projects: body.projects?.length ? body.projects : null }),
    async done(made) {
      making.reset();
      await shown(made);
      await draw();
    },
  });
  show("Tokens", el("h1", "Tokens"), panel("All tokens", null, place), panel("New token", null, making));
}

function shown(made) {
  return dialog("The new token", (close) => {
    const field = el("input", { readonly: true, value: made.secret, "aria-label": "Token", class: "mono", onfocus: () => field.select() });
    return el("div.stack", el("p", "This is the only time that it is shown. Keep it where its user finds it."), field, el("div.actions", button("Copy", () => perform(null, () => navigator.clipboard.writeText(made.secret), "Copied.")), button("I have it", () => close(true), { class: "primary" })));
  });
}

function line(token, names, again) {
  const revoking = dangerous("Revoke", "Revoke this token?", el("span", "Whoever uses ", name(token.name), " is shut out at once."), () => api.remove(`/v1/tokens/${token.id}`), again);
  return row(null, name(token.name), token.scopes.join(", "), token.projects ? token.projects.map((id, index) => [index ? ", " : "", name(names.get(id) ?? short(id))]) : "all", ago(token.created_at), token.revoked_at ? ["revoked ", ago(token.revoked_at)] : token.expires_at ? ago(token.expires_at) : "never", token.revoked_at ? "" : revoking);
}
