// Steps of a template as a form: a part for each, or all of them as text. What a step's task has beside the fields that
// stand here is kept as it is.

import { button, el, swap } from "./dom.js";
import { control, group } from "./forms.js";
import { MODES } from "./newtask.js";
import { commandOf, quoted } from "./words.js";

const WHEN = [["all_succeeded", "all of these succeeded"], ["any_failed", "one of these failed"], ["always", "these are over"]];

/** A control, as forms have them, for `steps`. `changed(steps)` hears what can be drawn of them. */
export function stepsControl(steps, changed) {
  let parts = [];
  let text = null;
  const error = el("p.field-error", { role: "alert" });
  const list = el("div.stack");
  const turning = button("As text", () => turn());
  const tell = () => {
    try {
      changed(text ? text.value() : parts.map((one) => one.sketch()));
    } catch {
      changed(null);
    }
  };
  const draw = () => {
    parts.forEach((one, index) => one.count(index + 1, parts.length));
    swap(list, text ? text.node : [parts.map((one) => one.node), el("div.actions", button("Add a step", add))]);
    turning.textContent = text ? "As a form" : "As text";
    tell();
  };
  const make = (step) => {
    const one = part(step, () => {
      parts = parts.filter((other) => other !== one);
      draw();
    });
    return one;
  };
  const add = () => {
    const before = parts.at(-1)?.sketch();
    const one = make({ name: "", depends_on: before?.name ? [before.name] : [], task: { execution_mode: before?.mode ?? MODES[0][0] } });
    parts.push(one);
    draw();
    one.focus();
  };
  const turn = () => {
    self.say(null);
    try {
      if (text) {
        parts = text.value().map(make);
        text = null;
      } else {
        text = control({ name: "steps", label: "Steps as text", kind: "json", rows: 18, value: JSON.stringify(read(), null, 2), hint: "A list of { name, depends_on, when, task }, with a task as the API has it." });
      }
    } catch (problem) {
      if (problem.at) problem.at.focus();
      else self.say(`These are not steps: ${problem.message}`);
    }
    draw();
  };
  const read = () => parts.map((one) => one.read());
  const self = {
    node: el("div.steps", { role: "group", "aria-label": "Steps", oninput: tell, onchange: tell }, el("div.panel-head", el("h3", "Steps"), turning), list, error),
    raw: () => null,
    value: () => (text ? text.value() : read()),
    say(said) {
      error.textContent = said ?? "";
      for (const one of parts) one.clear();
    },
    focus: () => (text ?? parts[0])?.focus(),
    /** The control that `[1].task.command` is about. */
    within(path) {
      const [, at, rest] = /^\[(\d+)\]\.(.+)$/.exec(path) ?? [];
      return text || !parts[at] ? null : parts[at].owner(rest);
    },
  };
  parts = steps.map(make);
  draw();
  return self;
}

/** One step. */
function part(step, remove) {
  const task = step.task ?? {};
  const isContainer = (values) => values["task.execution_mode"] === "docker-sandbox";
  const command = { label: "Command", kind: "words", required: true, value: commandOf(task).map(quoted).join(" "), placeholder: "make test" };
  const all = group([
    { name: "name", label: "Name", required: true, value: step.name, placeholder: "build" },
    { name: "depends_on", label: "Waits for", kind: "names", value: (step.depends_on ?? []).join(", "), hint: "Names of other steps, with commas." },
    { name: "when", label: "Goes on when", kind: "select", options: WHEN, value: step.when ?? "all_succeeded" },
    { name: "task.execution_mode", label: "Runs", kind: "select", options: MODES, value: task.execution_mode },
    { name: "task.sandbox.image", label: "Image", required: true, value: task.sandbox?.image ?? "host", when: isContainer },
    { ...command, name: "task.sandbox.command", when: isContainer },
    { ...command, name: "task.command", when: (values) => !isContainer(values) },
    { name: "task.requires_approval", label: "Ask for approval first", kind: "check", value: task.requires_approval },
  ]);
  const title = el("legend");
  const removing = button("Remove this step", remove, { class: "plain" });
  const names = (values) => values.depends_on.split(/[\s,]+/).filter(Boolean);
  return {
    node: el("fieldset.form", { onchange: all.arrange }, title, all.nodes(false), removing),
    owner: all.owner,
    clear: all.clear,
    focus: () => all.owner("name").focus(),
    count(number, most) {
      title.textContent = `Step ${number}`;
      removing.hidden = most === 1;
    },
    /** As much as can be drawn. */
    sketch() {
      const values = all.raw();
      return { name: values.name.trim(), depends_on: names(values), when: values.when, mode: values["task.execution_mode"] };
    },
    read() {
      // The template says which project it is.
      const { command: _, project: __, sandbox, ...rest } = task;
      const made = { ...step, task: { ...rest, ...(isContainer(all.raw()) && { sandbox: { ...sandbox } }) } };
      const at = all.read(made);
      if (at) throw Object.assign(new Error(), { at });
      return made;
    },
  };
}
