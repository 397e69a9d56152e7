// Those who run tasks, and what their hosts can enforce.

import * as api from "./api.js";
import { el, empty, facts, link, panel, row, swap, table } from "./dom.js";
import { name, nodes } from "./inert.js";
import { every, refreshOn } from "./news.js";
import { ago, badge, taskLink } from "./words.js";

export async function runners({ show, signal }) {
  const place = el("div");
  const draw = async () => {
    const all = await api.list("/v1/runners", {}, 1000, signal);
    swap(
      place,
      all.length
        ? table("Runners", ["Name", "State", "Running", "Labels", "Heard of", "Host"], all.map((one) => row(`/runners/${one.id}`, link(`#/runners/${one.id}`, name(one.name)), badge(one.state), `${one.running} of ${one.capacity}`, nodes(one.labels.join(", ")), ago(one.seen_at), healthOf(one))))
        : empty("No runner is known. Nothing will be run until one is there.", el("p", "Start one with ", el("code", "cofferdam runner --api URL"), ".")),
    );
  };
  await draw();
  show("Runners", el("h1", "Runners"), panel("All runners", null, place));
  refreshOn((event) => event.type.startsWith("runner."), draw, signal);
  every(5000, () => draw().catch(() => {}), signal);
}

/** In a line: what the host can confine by, and how many of its checks are good. */
export function healthOf(runner) {
  const checks = runner.host?.checks;
  if (!checks) return el("span.quiet.small", "host not examined");
  const bad = checks.filter((check) => !["ok", "not_applicable"].includes(check.status));
  const usable = (runner.host.backends ?? []).filter((one) => one.usable && one.backend !== "local").map((one) => one.backend);
  return el("span.quiet.small", `confines by ${usable.join(", ") || "nothing"}; `, bad.length ? `${bad.length} of ${checks.length} checks not good: ${bad.slice(0, 3).map((check) => check.title).join(", ")}` : `all ${checks.length} checks good`);
}

export async function runner({ show, signal, id }) {
  const [one, tasks] = await Promise.all([api.get(`/v1/runners/${id}`, {}, signal), api.list("/v1/tasks", { state: "running" }, 100, signal)]);
  const mine = tasks.filter((task) => task.runner === id);
  const checks = one.host?.checks ?? [];
  const backends = one.host?.backends ?? [];
  show(
    one.name,
    el("p.crumbs", link("#/runners", "Runners")),
    el("h1", name(one.name), " ", badge(one.state)),
    el(
      "div.grid",
      panel("Runner", null, facts([["Running", `${one.running} of ${one.capacity}`], ["Labels", nodes(one.labels.join(", "))], ["Heard of", ago(one.seen_at)], ["Known since", ago(one.created_at)], ["Backends", backends.length ? backends.map((one) => el("div", badge(one.usable ? "ok" : "fail", one.backend), " ", nodes(one.because))) : null]])),
      panel("Runs now", null, mine.length ? table("Tasks", ["Task", "State"], mine.map((task) => row(`/tasks/${task.id}`, taskLink(task), badge(task.state)))) : empty("Nothing.")),
    ),
    panel("What its host can enforce", null, checks.length ? table("Checks", ["Check", "State", "Found", "What helps"], checks.map((check) => row(null, nodes(check.title), badge(check.status), nodes(check.detail ?? ""), nodes(check.remedy ?? "")))) : empty("It has not said.")),
  );
}
