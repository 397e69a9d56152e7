// Forms. A field has the name that the API has for it, so what the server says about a field stands beside that field.

import { el, swap } from "./dom.js";
import { line, nodes } from "./inert.js";
import { problem } from "./notes.js";

/** How a control's text becomes a value. What cannot be one is thrown as words. */
const READERS = {
  text: (text) => text.trim() || null,
  number: (text) => (text.trim() === "" ? null : numeric(text)),
  lines: (text) => text.split("\n").map((one) => one.trim()).filter(Boolean),
  words: argv,
  pairs: (text) => Object.fromEntries(READERS.lines(text).map((one) => cut(one, "="))),
  values: (text) => Object.fromEntries(READERS.lines(text).map((one) => cut(one, ":")).map(([key, value]) => [key, loose(value)])),
  mounts: (text) => READERS.lines(text).map(mount),
  names: (text) => text.split(/[\s,]+/).filter(Boolean),
  json: (text) => JSON.parse(text),
  stamp: (text) => (text ? new Date(text).toISOString() : null),
};

/**
 * `fields` are `{ name, label, kind, options, value, hint, required, when(values) }`; `send(body)` does it, and
 * `done(answer)` follows. Without `submit` the form only shows what is there.
 */
export function form({ fields, submit, send, done, label }) {
  const all = group(fields);
  const top = el("div");
  const button = el("button", { type: "submit", class: "primary" }, submit);
  const node = el(
    "form",
    {
      class: "form",
      novalidate: true,
      "aria-label": label ?? submit,
      onchange: all.arrange,
      async onsubmit(event) {
        event.preventDefault();
        swap(top);
        all.clear();
        const body = {};
        const wrong = all.read(body);
        if (wrong) return wrong.focus();
        button.disabled = true;
        try {
          const answer = await send(body);
          await done(answer);
        } catch (error) {
          const at = error.field && all.owner(error.field);
          if (at) {
            at.say([error.message, error.rule && `Rule: ${error.rule}.`, error.remedy].filter(Boolean).join(" "));
            at.focus();
          } else {
            swap(top, problem(error));
            top.scrollIntoView({ block: "nearest" });
          }
        } finally {
          button.disabled = false;
        }
      },
    },
    top,
    all.nodes(false),
    fields.some((field) => field.more) && el("details.more-fields", el("summary", "More settings"), el("div.form", all.nodes(true))),
    submit && el("div.actions", button),
  );
  return node;
}

/** Fields that are read together: of a form, or of a part of one. A field may bring a control of its own. */
export function group(fields) {
  const controls = new Map(fields.map((field) => [field.name, field.control ?? control(field)]));
  const all = {
    raw: () => Object.fromEntries([...controls].map(([name, one]) => [name, one.raw()])),
    nodes: (more) => fields.filter((field) => Boolean(field.more) === more).map((field) => controls.get(field.name).node),
    arrange() {
      const values = all.raw();
      for (const field of fields) controls.get(field.name).node.hidden = Boolean(field.when && !field.when(values));
    },
    clear() {
      for (const one of controls.values()) one.say(null);
    },
    /** Puts what they hold into `body`. What cannot be sent says so; the first control of those is given back. */
    read(body) {
      let wrong = null;
      for (const field of fields) {
        const one = controls.get(field.name);
        if (one.node.hidden) continue;
        try {
          const value = one.value();
          if (field.required && (value === null || value.length === 0)) throw new Error("This is needed.");
          if (value !== null) place(body, field.name, value);
        } catch (error) {
          if (!error.at) one.say(error.message);
          wrong ??= error.at ?? one;
        }
      }
      return wrong;
    },
    /** The control that a path of the API lies in: of `sandbox.mounts[0].source` that is `sandbox.mounts`. */
    owner(field) {
      for (let path = field; path; path = path.replace(/(\.[^.[]*|\[\d+\]|^[^.[]*)$/, "")) {
        const found = controls.get(path);
        if (found && !found.node.hidden) return found.within?.(field.slice(path.length)) ?? found;
      }
      return null;
    },
  };
  all.arrange();
  return all;
}

let ids = 0;

export function control(field) {
  const id = `f-${++ids}`;
  const kind = field.kind ?? "text";
  const error = el("p", { id: `${id}-error`, class: "field-error", role: "alert" });
  const preview = kind === "words" && el("p.argv", { role: "group", "aria-label": "Arguments" });
  const attributes = { id, name: field.name, "aria-describedby": `${id}-error ${id}-hint`, "aria-required": field.required ? "true" : null, placeholder: field.placeholder, spellcheck: "false", autocomplete: "off" };
  let input;
  if (kind === "select") input = el("select", attributes, field.options.map(([value, label]) => el("option", { value }, line(label))));
  else if (kind === "check") input = el("input", { ...attributes, type: "checkbox", checked: field.value ?? false });
  else if (kind === "checks") input = el("div", { id, role: "group", "aria-label": field.label, tabindex: "-1" }, field.options.map(([value, label]) => el("label.check", el("input", { type: "checkbox", value, checked: (field.value ?? []).includes(value) }), line(label))));
  else if (["lines", "pairs", "values", "mounts", "json"].includes(kind)) input = el("textarea", { ...attributes, rows: field.rows ?? 3 });
  else input = el("input", { ...attributes, type: kind === "stamp" ? "datetime-local" : "text", inputmode: kind === "number" ? "numeric" : null });
  if (!["check", "checks"].includes(kind) && field.value !== undefined && field.value !== null) input.value = field.value;
  if (preview) {
    const show = () => {
      try {
        swap(preview, argv(input.value).map((word) => el("code", nodes(word))));
      } catch {
        swap(preview);
      }
    };
    input.addEventListener("input", show);
    show();
  }
  const labelled = kind === "check" ? el("label.check", { for: id }, input, field.label) : [kind === "checks" ? el("span.label", field.label) : el("label", { for: id }, field.label), input];
  return {
    node: el("div.field", labelled, preview, field.hint && el("p", { id: `${id}-hint`, class: "quiet small" }, field.hint), error),
    raw: () => (kind === "check" ? input.checked : kind === "checks" ? ticked(input) : input.value),
    value: () => (kind === "check" ? input.checked : kind === "checks" ? ticked(input) : (READERS[kind] ?? READERS.text)(input.value)),
    say(text) {
      error.textContent = line(text ?? "");
      if (text) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    },
    focus() {
      input.closest("details")?.setAttribute("open", "");
      input.focus();
    },
  };
}

function ticked(group) {
  return [...group.querySelectorAll("input:checked")].map((box) => box.value);
}

function place(body, path, value) {
  const parts = path.split(".");
  const last = parts.pop();
  let at = body;
  for (const part of parts) at = at[part] ??= {};
  at[last] = value;
}

function numeric(text) {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error("This is not a number.");
  return value;
}

function cut(text, sign) {
  const at = text.indexOf(sign);
  if (at < 1) throw new Error(`Write NAME${sign}VALUE, one on a line; ${JSON.stringify(text)} is not.`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** A value as JSON where it is, else as the text it is. */
function loose(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function mount(text) {
  const [source, target, mode, more] = text.split(":");
  if (!source || !target || more !== undefined || !["ro", "rw", undefined].includes(mode)) throw new Error(`Write SOURCE:TARGET or SOURCE:TARGET:rw, one on a line; ${JSON.stringify(text)} is not.`);
  return { source, target, writable: mode === "rw" };
}

/** Words with quotes and backslashes as a shell reads them, and nothing else of a shell. */
function argv(text) {
  const words = [];
  let word = null;
  let quote = null;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (quote) {
      if (c === quote) quote = null;
      else if (c === "\\" && quote === '"' && '"\\'.includes(text[at + 1])) word += text[++at];
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (c === "\\" && at + 1 < text.length) word = (word ?? "") + text[++at];
    else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  if (quote) throw new Error("A quote is not closed.");
  if (word !== null) words.push(word);
  return words;
}
