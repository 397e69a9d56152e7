// One task: what was asked, what held, what it wrote, what happened, and what may be done about it now.

import * as api from "./api.js";
import { gauge } from "./chart.js";
import { button, el, empty, facts, link, panel, renew, row, save, swap, table } from "./dom.js";
import { list as timeline, verification } from "./events.js";
import { name, nodes } from "./inert.js";
import { bind } from "./keys.js";
import { log } from "./log.js";
import { every, refreshOn } from "./news.js";
import { dangerous, perform, problem } from "./notes.js";
import { question } from "./approvals.js";
import { go } from "./router.js";
import { FAILED, OVER, ago, badge, bytes, clock, commandOf, count, duration, quoted, short, sizeFrom, timeFrom, titleOf, tookOf } from "./words.js";
import { may } from "./session.js";

export async function task({ show, signal, id, query }) {
  const path = `/v1/tasks/${id}`;
  let shown = await api.get(path, {}, signal);
  const head = el("div.stack");
  const sides = el("div.stack");
  const facts = el("div.grid");
  const output = el("div");
  const history = el("div");
  const attempts = el("div");
  let logged = null;

  const writes = () => {
    const attempt = Number(query.attempt) || shown.attempt;
    if (attempt === logged) return;
    logged = attempt;
    swap(output, attempt ? log(id, attempt, signal) : empty("It has not been started, so it has written nothing."));
  };
  const draw = async () => {
    const [now, tries, events, asked, runners, audit] = await Promise.all([
      api.get(path, {}, signal),
      api.list(`${path}/attempts`, {}, 500, signal),
      api.list(`${path}/events`, {}, 500, signal),
      api.list("/v1/approvals", { task: id, state: "pending" }, 20, signal),
      api.list("/v1/runners", {}, 1000, signal).catch(() => []),
      api.get(`${path}/audit`, {}, signal),
    ]);
    if (signal.aborted) return;
    shown = now;
    const names = new Map(runners.map((runner) => [runner.id, runner.name]));
    renew(head, [shown, asked], () => heading(shown, asked, draw));
    renew(sides, [shown, runners.length], () => [settings(shown, names), receipt(shown)]);
    renew(facts, shown, () => [usage(shown), artifacts(path, signal)]);
    renew(history, [audit, events.length], () => [proof(audit), timeline(events)]);
    renew(attempts, tries, () => tried(id, tries, names));
    writes();
  };
  await draw();
  show(titleOf(shown), head, panel("Output", null, output), sides, facts, attempts, panel("Timeline and audit", verification(), history));
  refreshOn((event) => event.task === id, draw, signal);
  every(1000, () => {
    const took = head.querySelector("[data-took]");
    if (took && !OVER.includes(shown.state)) took.textContent = duration(tookOf(shown));
  }, signal);
  bind("r", "review the changes", () => hasChanges(shown) && go(`/tasks/${id}/review`), signal);
}

export function hasChanges(task) {
  const counts = task.changes;
  return Boolean(counts && counts.created + counts.modified + counts.deleted + counts.retyped);
}

function heading(task, asked, again) {
  const isOver = OVER.includes(task.state);
  const canCancel = !isOver && task.state !== "cancel_requested";
  const actions = [
    hasChanges(task) && el("a.button.primary", { href: `#/tasks/${task.id}/review` }, "Review changes"),
    may("submit") && task.state === "created" && button("Dispatch", (event) => act(event, task, "dispatch", again), { class: "primary" }),
    may("submit") && canCancel && dangerous("Cancel task", "Cancel this task?", "What it runs is stopped. What it changed so far is kept and can be reviewed.", () => api.post(`/v1/tasks/${task.id}/cancel`), again),
    may("submit") && FAILED.includes(task.state) && button("Retry", (event) => act(event, task, "retry", again)),
  ];
  return [
    el("p.crumbs", link("#/tasks", "Tasks"), task.workflow_run && [" / ", link(`#/workflows/${task.workflow_run}`, "workflow run")]),
    el("div.title", el("h1", name(titleOf(task)), " ", badge(task.state)), el("div.actions", actions)),
    el("pre.command", { "aria-label": "Command" }, commandOf(task).map((word, index) => [index ? " " : "", el("span.word", nodes(quoted(word)))])),
    el(
      "p.meta",
      el("span", "by ", name(task.actor)),
      el("span", ago(task.created_at)),
      task.attempt > 0 && el("span", `attempt ${task.attempt} of ${task.retry?.max_attempts ?? 1}`),
      task.started_at && el("span", "took ", el("span", { "data-took": true }, duration(tookOf(task)))),
      task.exit_code != null && el("span", "exit code ", el("b", String(task.exit_code))),
      el("span", "id ", el("code", task.id)),
    ),
    task.message && el("div", { class: FAILED.includes(task.state) ? "problem" : "remark" }, nodes(task.message)),
    asked.map((approval) => question(approval, again)),
  ];
}

function act(event, task, verb, again) {
  return perform(event.currentTarget, () => api.post(`/v1/tasks/${task.id}/${verb}`), () => "Done.").then(again);
}

function settings(task, runners) {
  const block = task.sandbox ?? {};
  const plan = task.plan ?? null;
  const held = task.effective ?? {};
  const text = (value) => (value === null || value === undefined ? null : nodes(typeof value === "object" ? JSON.stringify(value) : String(value)));
  const asked = facts([
    ["mode", task.execution_mode],
    ["role", text(task.role)],
    ["timeout", text(task.timeout)],
    ["deadline", task.deadline && ago(task.deadline)],
    ...Object.entries(block).filter(([key, value]) => !["command", "mounts"].includes(key) && !isNothing(value)).map(([key, value]) => [key.replaceAll("_", " "), text(value)]),
    ...(block.mounts ?? []).map((mount) => ["mount", [name(mount.source), " → ", name(mount.target), mount.writable ? ", writable" : ", read-only"]]),
    ...(task.paths ?? []).map((path) => ["path", name(path)]),
    ...Object.entries(task.settings ?? {}).map(([key, value]) => [nodes(key), text(value)]),
    ...(task.overrides ?? []).map((over) => [nodes(over.setting), [text(over.value), " – ", nodes(over.reason)]]),
  ]);
  const planned = plan && facts([["backend", plan.backend], ["workspace", plan.workspace?.mode], ["network", plan.network], ...Object.entries(plan.limits ?? {})].map(([key, value]) => [key.replaceAll("_", " "), text(value)]));
  const effective = Object.keys(held).length || task.backend
    ? facts([
        ["backend", text(task.backend)],
        ["container", task.container_id && el("code", nodes(String(task.container_id).slice(0, 12)))],
        ["runner", task.runner && link(`#/runners/${task.runner}`, name(runners.get(task.runner) ?? short(task.runner)))],
        ...Object.entries(held).map(([key, value]) => [key.replaceAll("_", " "), text(value)]),
      ])
    : empty("Nothing is in force before it runs.");
  return panel("Settings", null, el("div.sides", el("div", el("h3", "Asked for"), asked), planned && el("div", el("h3", "Planned"), planned), el("div", el("h3", "In effect, as read back"), effective)));
}

function isNothing(value) {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function receipt(task) {
  const holdings = Array.isArray(task.receipt) ? task.receipt : (task.receipt?.receipt ?? []);
  const body = holdings.length
    ? table("Receipt", ["Guarantee", "State", "By what, and as it was read back"], holdings.map((held) => row(null, nodes(String(held.guarantee).replaceAll("_", " ")), badge(held.state), [nodes(held.mechanism), held.read_back && el("div.quiet", el("code", nodes(held.read_back)))])))
    : empty(OVER.includes(task.state) ? "The run left no receipt." : "The receipt is written when the run is over.");
  return panel("Receipt", holdings.length ? el("span.quiet", `${holdings.filter((held) => held.state === "enforced").length} of ${holdings.length} enforced`) : null, body);
}

function usage(task) {
  const used = task.usage;
  if (!used) return panel("Use against limits", null, empty("Known when the run is over."));
  const limits = task.plan?.limits ?? {};
  const timeout = limits.timeout ?? task.timeout;
  const memory = limits.memory ?? task.sandbox?.memory;
  const cpus = Number(limits.cpus ?? task.sandbox?.cpus) || null;
  const busy = used.user_ms + used.system_ms;
  return panel(
    "Use against limits",
    null,
    gauge("Time", used.wall_ms, timeFrom(timeout), duration(used.wall_ms), String(timeout)),
    gauge("Memory", used.max_rss_bytes, sizeFrom(memory), bytes(used.max_rss_bytes), String(memory)),
    gauge("Processors", used.wall_ms ? busy / used.wall_ms : 0, cpus, used.wall_ms ? (busy / used.wall_ms).toFixed(2) : "0", String(cpus)),
    el("p.quiet.small", `${duration(used.user_ms)} in programs, ${duration(used.system_ms)} in the kernel`),
  );
}

function artifacts(path, signal) {
  const place = el("div", el("p.quiet", "Loading…"));
  api.list(`${path}/artifacts`, {}, 500, signal).then(
    (items) => {
      swap(place, items.length ? table("Artifacts", ["Name", "Size", "Hash", ""], items.map((item) => row(null, name(item.name), bytes(item.size), el("code", String(item.hash).slice(0, 12)), button("Download", (event) => perform(event.currentTarget, () => download(item)))))) : empty("It left no artifacts."));
    },
    (error) => error.name !== "AbortError" && swap(place, problem(error)),
  );
  return panel("Artifacts", null, place);
}

async function download(item) {
  const answer = await api.request("GET", `/v1/artifacts/${item.id}`);
  save(item.name.replaceAll(/[^\w.-]/g, "_"), [await answer.arrayBuffer()]);
}

function tried(id, tries, runners) {
  if (tries.length < 2) return null;
  return panel(
    "Attempts",
    el("span.quiet", count(tries.length, "attempt")),
    table("Attempts", ["Attempt", "State", "Runner", "Began", "Took", "Exit code", "Why"], tries.map((one) =>
      row(`/tasks/${id}?attempt=${one.number}`, link(`#/tasks/${id}?attempt=${one.number}`, String(one.number)), badge(one.state), name(runners.get(one.runner) ?? short(one.runner)), clock(one.claimed_at), duration(tookOf(one)), one.exit_code ?? "", nodes(one.message ?? "")),
    )),
  );
}

const LINKS = { request: "Asked for", policy: "Judged by", command: "Run", change_set: "Changed", decision: "Decided", applied: "Reached the host", undone: "Taken back", discarded: "Thrown away", refused: "Not done", untouched: "Nothing to do" };

/** The links from what was asked for to what reached the host, each with its event in the chain. */
function proof(audit) {
  if (!audit.links?.length) return null;
  return el("ol.proof", { "aria-label": "From request to host" }, audit.links.map((one) =>
    el("li", el("b", LINKS[one.step] ?? one.step), one.step === "decision" && one.what && el("span.small", nodes(decided(one))), el("code", { title: one.value }, nodes(String(one.value).slice(0, 16))), el("span.quiet.small", nodes(one.actor), ", event ", String(one.seq), " ", clock(one.ts))),
  ));
}

/** What somebody decided, about what, and what came of it. */
function decided({ what, paths, outcome }) {
  return [what, ...(paths ?? [])].join(" ") + (outcome ? `: ${outcome}` : "");
}
