// How states, times and amounts are said. A state is a sign and a word, and its colour only repeats them.

import { el } from "./dom.js";
import { name } from "./inert.js";

const STATES = {
  created: ["○", "created", "idle"],
  awaiting_approval: ["?", "awaiting approval", "wait"],
  queued: ["…", "queued", "idle"],
  claimed: ["→", "claimed", "busy"],
  running: ["▶", "running", "busy"],
  cancel_requested: ["■", "stopping", "wait"],
  succeeded: ["✓", "succeeded", "good"],
  failed: ["✕", "failed", "bad"],
  timed_out: ["◑", "timed out", "bad"],
  canceled: ["⊘", "canceled", "idle"],
  lost: ["!", "lost", "bad"],
  paused: ["‖", "paused", "wait"],
  aborted: ["⊘", "aborted", "bad"],
  waiting: ["○", "waiting", "idle"],
  started: ["▶", "started", "busy"],
  skipped: ["↷", "skipped", "idle"],
  reused: ["↺", "taken over", "good"],
  pending: ["?", "pending", "wait"],
  approved: ["✓", "approved", "good"],
  rejected: ["✕", "rejected", "bad"],
  withdrawn: ["⊘", "withdrawn", "idle"],
  online: ["●", "online", "good"],
  draining: ["‖", "draining", "wait"],
  offline: ["✕", "offline", "bad"],
  enforced: ["✓", "enforced", "good"],
  relaxed: ["!", "given up", "wait"],
  ok: ["✓", "ok", "good"],
  warn: ["!", "warning", "wait"],
  fail: ["✕", "fails", "bad"],
  not_applicable: ["–", "not applicable", "idle"],
};

/** Of a task: nothing more will come by itself. */
export const OVER = ["succeeded", "failed", "timed_out", "canceled", "lost"];
export const FAILED = ["failed", "timed_out", "lost"];

export function stateOf(state) {
  const [sign, word, tone] = STATES[state] ?? ["·", String(state), "idle"];
  return { sign, word, tone };
}

/** Of a step: what became of its task, unless that is another run's. */
export function stepState(step) {
  return step.state === "reused" ? step.state : (step.task_state ?? step.state);
}

export function badge(state, label) {
  const { sign, word, tone } = stateOf(state);
  return el("span", { class: `badge ${tone}` }, el("span.sign", { "aria-hidden": "true" }, sign), label ?? name(word));
}

/** What a task is called where it has no title. */
export function titleOf(task) {
  return task.title || task.step || commandOf(task).join(" ") || task.id;
}

/** Leads to a task by its name. */
export function taskLink(task) {
  return el("a", { href: `#/tasks/${task.id}` }, name(titleOf(task)));
}

export function commandOf(task) {
  return (task.sandbox ? task.sandbox.command : task.command) ?? [];
}

/** A word as a shell would take it, so that one argument is seen to be one. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms === 0) return "below 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

export function tookOf(result) {
  if (!result.started_at) return null;
  const end = result.finished_at ? Date.parse(result.finished_at) : Date.now();
  return Math.max(0, end - Date.parse(result.started_at));
}

export function bytes(count) {
  if (count === null || count === undefined) return "";
  let amount = Number(count);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (amount < 1024 || unit === "GiB") return `${unit === "B" ? amount : amount.toFixed(amount < 10 ? 1 : 0)} ${unit}`;
    amount /= 1024;
  }
}

/** `2g`, `512m`, `1048576` as bytes; `10m`, `90s`, `2h`, `500ms` as milliseconds. */
export function sizeFrom(text) {
  const found = /^(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$/i.exec(String(text ?? "").trim());
  return found && Number(found[1]) * 1024 ** " kmgt".indexOf((found[2] || " ").toLowerCase());
}

export function timeFrom(text) {
  const parts = [...String(text ?? "").matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?/g)];
  const unit = { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 };
  return parts.length ? parts.reduce((sum, [, amount, name]) => sum + Number(amount) * unit[name ?? "s"], 0) : null;
}

/** A moment, as time passed; the moment itself on hover. */
export function ago(stamp) {
  return stamp ? el("time.ago", { datetime: stamp, title: new Date(stamp).toLocaleString() }, since(stamp)) : "";
}

/** Says it anew of all that `ago` has said: time goes on. */
export function refreshTimes() {
  for (const node of document.querySelectorAll("time.ago")) node.textContent = since(node.dateTime);
}

function since(stamp) {
  const passed = Math.round((Date.now() - Date.parse(stamp)) / 1000) * 1000;
  if (Math.abs(passed) < 5000) return "just now";
  const long = Math.abs(passed) < 60000 ? `${Math.abs(passed) / 1000} s` : duration(Math.abs(passed));
  return passed < 0 ? `in ${long}` : `${long} ago`;
}

export function clock(stamp) {
  const moment = new Date(stamp);
  const text = `${moment.toLocaleTimeString([], { hour12: false })}.${String(moment.getMilliseconds()).padStart(3, "0")}`;
  return el("time", { datetime: stamp, title: moment.toLocaleString() }, text);
}

export function count(amount, one, many = `${one}s`) {
  return `${Number(amount).toLocaleString("en")} ${amount === 1 ? one : many}`;
}

/** The end of an id says more than its beginning, which is the time. */
export function short(id) {
  return String(id).slice(-8);
}
