// Making a task.

import * as api from "./api.js";
import { el, link, panel } from "./dom.js";
import { form } from "./forms.js";
import { say } from "./notes.js";
import { go } from "./router.js";

export const MODES = [
  ["isolated-worktree", "in a git worktree of its own"],
  ["docker-sandbox", "staged, in a container"],
  ["shared-workspace", "on the project's tree itself"],
  ["no-workspace", "in an empty workspace"],
];

export function modeOf(task) {
  return MODES.find(([mode]) => mode === task.execution_mode)?.[1] ?? task.execution_mode;
}

export async function newTask({ show, signal, query }) {
  const [projects, roles] = await Promise.all([api.list("/v1/projects", {}, 200, signal), api.list("/v1/roles", {}, 200, signal)]);
  const isContainer = (values) => values.execution_mode === "docker-sandbox";
  const isOther = (values) => !isContainer(values);
  const fields = [
    { name: "title", label: "Title" },
    { name: "execution_mode", label: "Mode", kind: "select", options: MODES, value: query.mode ?? "docker-sandbox" },
    { name: "project", label: "Project", kind: "select", options: [["", "none"], ...projects.map((project) => [project.id, project.name])], value: query.project ?? projects[0]?.id ?? "", when: (values) => values.execution_mode !== "no-workspace" },
    { name: "command", label: "Command", kind: "words", required: true, when: isOther, placeholder: "cargo test --workspace", hint: "A program and its arguments; no shell reads it." },
    { name: "sandbox.image", label: "Image", required: true, when: isContainer, placeholder: "debian:bookworm", value: "host" },
    { name: "sandbox.command", label: "Command", kind: "words", required: true, when: isContainer, placeholder: "sh -c 'make test'", hint: "A program and its arguments; no shell reads it." },
    { name: "role", label: "Role", kind: "select", options: [["", "the project's own"], ...roles.map((role) => [role.name, role.name])] },
    { name: "timeout", label: "Timeout", placeholder: "10m" },
    { name: "requires_approval", label: "Ask for approval first", kind: "check" },
    { name: "dispatch", label: "Queue it at once", kind: "check", value: true },
  ];
  const more = [
    { name: "sandbox.network", label: "Network", kind: "select", options: [["", "as the role has it"], ["none", "none"], ["allow", "allow"], ["full", "full"]], when: isContainer },
    { name: "sandbox.memory", label: "Memory", placeholder: "2g", when: isContainer },
    { name: "sandbox.cpus", label: "Processors", placeholder: "2", when: isContainer },
    { name: "sandbox.pids", label: "Processes", kind: "number", placeholder: "512", when: isContainer },
    { name: "sandbox.workdir", label: "Working directory", when: isContainer },
    { name: "sandbox.mounts", label: "Mounts", kind: "mounts", when: isContainer, hint: "SOURCE:TARGET, read-only, or SOURCE:TARGET:rw; one on a line." },
    { name: "sandbox.env", label: "Environment", kind: "pairs", when: isContainer, hint: "NAME=VALUE, one on a line. No secrets: pass those by name." },
    { name: "sandbox.pass_env", label: "Variables of the runner, by name", kind: "lines", when: isContainer, rows: 2 },
    { name: "paths", label: "Paths", kind: "lines", when: (values) => values.execution_mode === "shared-workspace", hint: "What it works on, relative to the root; nothing means everything.", rows: 2 },
    { name: "settings", label: "Settings", kind: "values", hint: "Configuration keys, as sandbox.network: none; one on a line." },
    { name: "labels", label: "Labels that a runner must have", kind: "lines", rows: 2 },
    { name: "priority", label: "Priority", kind: "number", placeholder: "0" },
    { name: "retry.max_attempts", label: "Attempts at most", kind: "number", placeholder: "1" },
    { name: "retry.on", label: "Try again after", kind: "checks", options: ["failed", "timed_out", "oom", "sandbox_failure", "lost"].map((cause) => [cause, cause.replaceAll("_", " ")]) },
    { name: "deadline", label: "Not started any more after", kind: "stamp" },
  ];
  show(
    "New task",
    el("p.crumbs", link("#/tasks", "Tasks")),
    el("h1", "New task"),
    panel(
      "What is to be run",
      null,
      form({
        fields: [...fields, ...more.map((field) => ({ ...field, more: true }))],
        submit: "Make the task",
        send: (body) => api.create("/v1/tasks", tidy(body)),
        done(task) {
          say("The task is made.");
          go(`/tasks/${task.id}`);
        },
      }),
    ),
  );
}

/** Leaves out what was left empty: the server's own defaults hold then. */
function tidy(body) {
  if (body.retry && body.retry.max_attempts === undefined) {
    if (body.retry.on?.length) body.retry.max_attempts = 2;
    else delete body.retry;
  }
  return body;
}
