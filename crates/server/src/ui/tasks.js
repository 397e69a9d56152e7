// All tasks, to be narrowed by state, project and words.

import * as api from "./api.js";
import { button, el, empty, link, renew, row, table } from "./dom.js";
import { name } from "./inert.js";
import { refreshOn } from "./news.js";
import { remember } from "./router.js";
import { may } from "./session.js";
import { ago, badge, duration, short, taskLink, tookOf } from "./words.js";

const STATES = ["created", "awaiting_approval", "queued", "claimed", "running", "cancel_requested", "succeeded", "failed", "timed_out", "canceled", "lost"];

export async function tasks({ show, signal, query }) {
  const projects = await api.list("/v1/projects", {}, 200, signal);
  const place = el("div", { "aria-live": "off" });
  const filter = { state: query.state ?? "", project: query.project ?? "", text: query.text ?? "" };
  let most = 100;
  const draw = async () => {
    const page = await api.get("/v1/tasks", { ...filter, limit: most }, signal);
    if (signal.aborted) return;
    const names = new Map(projects.map((project) => [project.id, project.name]));
    renew(
      place,
      page,
      () => page.items.length ? table("Tasks", ["Task", "State", "Project", "Took", "Made", "Id"], page.items.map((task) => line(task, names))) : nothing(filter),
      () => page.next && button("Show more", () => { most = Math.min(most + 100, 1000); draw(); }),
    );
  };
  const change = (key) => (event) => {
    filter[key] = event.target.value.trim();
    remember({ [key]: filter[key] });
    draw().catch(() => {});
  };
  const states = el("select", { id: "state", onchange: change("state") }, el("option", { value: "" }, "every state"), STATES.map((state) => el("option", { value: state }, state.replaceAll("_", " "))));
  states.value = filter.state;
  const owners = el("select", { id: "project", onchange: change("project") }, el("option", { value: "" }, "every project"), projects.map((project) => el("option", { value: project.id }, name(project.name))));
  owners.value = filter.project;
  await draw();
  show(
    "Tasks",
    el("div.title", el("h1", "Tasks"), may("submit") && el("a.button.primary", { href: "#/tasks/new" }, "New task")),
    el(
      "div.filter",
      el("label", "Search", el("input", { type: "search", "data-search": true, value: filter.text, oninput: later(change("text")), placeholder: "title or command" })),
      el("label", "State", states),
      el("label", "Project", owners),
    ),
    place,
  );
  refreshOn((event) => event.task, draw, signal);
}

function line(task, names) {
  return row(
    `/tasks/${task.id}`,
    taskLink(task),
    badge(task.state),
    task.project ? link(`#/projects/${task.project}`, name(names.get(task.project) ?? short(task.project))) : "",
    duration(tookOf(task)),
    ago(task.created_at),
    el("code", { title: task.id }, short(task.id)),
  );
}

function nothing(filter) {
  if (Object.values(filter).some(Boolean)) return empty("No task is like that.");
  return empty("There are no tasks yet.", may("submit") && el("a.button.primary", { href: "#/tasks/new" }, "Make the first"));
}

/** Waits until typing pauses. */
function later(action) {
  let timer = null;
  return (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(event), 250);
  };
}
