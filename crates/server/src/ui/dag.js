// Steps and what they wait for, drawn. Each step stands one column to the right of the last one it depends on.

import { svg } from "./dom.js";
import { line } from "./inert.js";
import { stateOf, stepState } from "./words.js";

const WIDTH = 190;
const TALL = 56;
const ACROSS = 62;
const DOWN = 22;

/** `steps` are `{ name, depends_on, when, state, task_state, task }`; a step with a task leads to it. */
export function dag(steps, label) {
  const known = new Map(steps.map((step) => [step.name, step]));
  const columns = [];
  const places = new Map();
  const depths = new Map();
  const depth = (name, trail = new Set()) => {
    if (depths.has(name) || trail.has(name)) return depths.get(name) ?? 0;
    trail.add(name);
    const before = known.get(name).depends_on.filter((other) => known.has(other));
    depths.set(name, before.length ? 1 + Math.max(...before.map((other) => depth(other, trail))) : 0);
    return depths.get(name);
  };
  for (const step of steps) (columns[depth(step.name)] ??= []).push(step);
  const tallest = Math.max(1, ...columns.map((column) => column?.length ?? 0));
  columns.forEach((column, x) =>
    column.forEach((step, y) => places.set(step.name, { x: x * (WIDTH + ACROSS) + 4, y: (y + (tallest - column.length) / 2) * (TALL + DOWN) + 4 })),
  );
  const width = columns.length * (WIDTH + ACROSS) - ACROSS + 8;
  const height = tallest * (TALL + DOWN) - DOWN + 8;
  const edges = steps.flatMap((step) => step.depends_on.filter((other) => places.has(other)).map((other) => edge(places.get(other), places.get(step.name), step)));
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path.arrow", { d: "M0 0L8 4L0 8Z" }));
  return svg("svg.dag", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label }, svg("defs", arrow), edges, steps.map((step) => box(step, places.get(step.name))));
}

function edge(from, to, step) {
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + TALL / 2, to.x - 2, to.y + TALL / 2];
  const bend = Math.max(24, (x2 - x1) / 2);
  return svg("path", { class: step.when && step.when !== "all_succeeded" ? "edge other" : "edge", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, "marker-end": "url(#arrow)" });
}

function box(step, place) {
  const { sign, word, tone } = stateOf(stepState(step) ?? "waiting");
  const text = line(step.name);
  const shown = text.length > 22 ? `${text.slice(0, 21)}…` : text;
  const when = { any_failed: "if one failed", always: "always" }[step.when];
  const parts = [
    svg("title", `${text}: ${word}`),
    svg("rect", { class: `step ${tone}`, width: WIDTH, height: TALL, rx: 8 }),
    svg("rect", { class: `edge-mark ${tone}`, width: 5, height: TALL, rx: 2 }),
    svg("text.step-name", { x: 18, y: 24 }, shown),
    svg("text", { class: `step-state ${tone}`, x: 18, y: 43 }, step.state === undefined ? (when ?? "") : `${sign} ${word}${when ? ` · ${when}` : ""}`),
  ];
  const attributes = { transform: `translate(${place.x} ${place.y})` };
  return step.task ? svg("a", { ...attributes, href: `#/tasks/${step.task}` }, parts) : svg("g", { ...attributes, role: "img", "aria-label": `${text}: ${word}` }, parts);
}
