// What runs, what waits for somebody, what failed and why; how much is done and how long it takes; what the hosts can do.

import * as api from "./api.js";
import { columns, shares } from "./chart.js";
import { el, empty, link, panel, renew, row, table } from "./dom.js";
import { name, nodes } from "./inert.js";
import { refreshOn } from "./news.js";
import { question } from "./approvals.js";
import { healthOf } from "./runners.js";
import { may } from "./session.js";
import { OVER, ago, badge, count, duration, short, stateOf, taskLink, titleOf, tookOf } from "./words.js";

export async function overview({ show, signal }) {
  const place = el("div.overview");
  const draw = async () => {
    const [sums, asked, running, recent, runners] = await Promise.all([
      api.get("/v1/overview", {}, signal),
      api.list("/v1/approvals", { state: "pending" }, 20, signal),
      api.list("/v1/tasks", { state: "running" }, 50, signal),
      api.list("/v1/tasks", {}, 100, signal),
      api.list("/v1/runners", {}, 1000, signal),
    ]);
    if (signal.aborted) return;
    renew(place, [sums, asked, running, recent, runners], () => page({ sums, asked, running, recent, runners }, draw));
  };
  await draw();
  show("Overview", el("div.title", el("h1", "Overview"), may("submit") && el("a.button.primary", { href: "#/tasks/new" }, "New task")), place);
  refreshOn(() => true, draw, signal);
}

function page({ sums, asked, running, recent, runners }, again) {
  const states = sums.tasks;
  const waiting = sums.approvals + sums.to_review.length;
  return [
    el(
      "ul.sums",
      sum("Running", (states.running ?? 0) + (states.claimed ?? 0) + (states.cancel_requested ?? 0), "busy", "#/tasks?state=running"),
      sum("Queued", states.queued ?? 0, "idle", "#/tasks?state=queued"),
      sum("Waiting for you", waiting, waiting ? "wait" : "idle", "#/approvals"),
      sum("Failed", (states.failed ?? 0) + (states.timed_out ?? 0) + (states.lost ?? 0), "bad", "#/tasks?state=failed"),
      sum("Succeeded", states.succeeded ?? 0, "good", "#/tasks?state=succeeded"),
    ),
    el(
      "div.grid",
      panel(
        "Waits for you",
        null,
        waiting === 0 && empty("Nothing waits for an answer."),
        asked.map((approval) => question(approval, again)),
        sums.to_review.map((task) =>
          el(
            "div.ask",
            { "data-row": `/tasks/${task.id}/review` },
            el("p", name(titleOf(task)), " changed ", changed(task.changes), "."),
            el("div.actions", el("a.button", { href: `#/tasks/${task.id}/review` }, "Review")),
          ),
        ),
      ),
      panel(
        "Running now",
        link("#/tasks", "All tasks"),
        running.length
          ? table("Running tasks", ["Task", "State", "For"], running.map((task) => row(`/tasks/${task.id}`, taskLink(task), badge(task.state), duration(tookOf(task)))))
          : empty("Nothing runs."),
      ),
      panel(
        "Failed last",
        null,
        sums.failures.length
          ? el("ul.list", sums.failures.map((task) => failure(task)))
          : empty("Nothing failed."),
      ),
      panel("Finished by hour", null, throughput(sums.hours)),
      panel("How the last hundred ended", null, outcomes(recent)),
      panel("How long they took", null, durations(recent)),
      panel(
        "Runners",
        link("#/runners", "All runners"),
        runners.length
          ? el("ul.list", runners.map((runner) => el("li", { "data-row": `/runners/${runner.id}` }, el("div.line", link(`#/runners/${runner.id}`, name(runner.name)), badge(runner.state), el("span.quiet", `${runner.running} of ${runner.capacity}`)), healthOf(runner))))
          : empty("No runner is known. Nothing will be run until one is there.", el("p", "Start one with ", el("code", "cofferdam runner --api URL"), ".")),
      ),
    ),
  ];
}

function sum(label, amount, tone, href) {
  return el("li", el("a", { href, class: amount ? tone : "idle" }, el("b", String(amount)), el("span", label)));
}

function changed(counts) {
  const parts = ["created", "modified", "deleted", "retyped"].filter((kind) => counts?.[kind]).map((kind) => `${counts[kind]} ${kind}`);
  return parts.length ? parts.join(", ") : "files";
}

function failure(task) {
  return el(
    "li",
    { "data-row": `/tasks/${task.id}` },
    el("div.line", taskLink(task), badge(task.state), el("span.quiet", ago(task.finished_at ?? task.created_at))),
    el("p.why", nodes(task.message ?? (task.exit_code != null ? `exit code ${task.exit_code}` : "no reason was given"))),
  );
}

function throughput(hours) {
  if (!hours.some((hour) => hour.succeeded + hour.failed)) return empty(`Nothing was finished in the last ${count(hours.length, "hour")}.`);
  const points = hours.map((hour) => {
    const at = new Date(hour.from).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
    return { label: at, value: hour.succeeded + hour.failed, part: hour.failed, title: `from ${at}: ${hour.succeeded} succeeded, ${hour.failed} failed` };
  });
  return columns(`Tasks finished by hour, ${count(hours.length, "hour")}`, points);
}

function outcomes(tasks) {
  const over = tasks.filter((task) => OVER.includes(task.state));
  if (!over.length) return empty("No task is over yet.");
  return shares("Outcomes", OVER.map((state) => [state, over.filter((task) => task.state === state).length]));
}

function durations(tasks) {
  const over = tasks.filter((task) => task.started_at && task.finished_at).reverse();
  if (!over.length) return empty("No task has run yet.");
  const sorted = over.map(tookOf).sort((a, b) => a - b);
  const points = over.map((task) => ({ label: "", value: tookOf(task), title: `${short(task.id)} ${stateOf(task.state).word}: ${duration(tookOf(task))}` }));
  const chart = columns(`Durations of ${count(over.length, "task")}`, points);
  chart.querySelector("figcaption").replaceChildren(
    el("span", "older"),
    el("span", `half within ${duration(sorted[Math.floor(sorted.length / 2)])}, all within ${duration(sorted.at(-1))}`),
    el("span", "newer"),
  );
  return chart;
}
