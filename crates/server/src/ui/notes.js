// What is said in passing, asked first, or shown instead of what could not be had.

import { button, el, swap } from "./dom.js";
import { line, nodes } from "./inert.js";

/** A line at the edge of the page, read out to those who cannot see it. */
export function say(text, tone = "good") {
  const note = el("div", { class: `note ${tone}` }, nodes(text), button("Dismiss", () => note.remove(), { class: "plain" }));
  document.getElementById("notes").append(note);
  setTimeout(() => note.remove(), tone === "bad" ? 15000 : 6000);
}

/** What an answer that says no means, in full. */
export function problem(error, again) {
  own(error);
  return el(
    "div.problem",
    { role: "alert" },
    el("strong", nodes(error.title ?? "This page made a mistake")),
    el("p", nodes(error.message)),
    error.rule && el("p", "Rule: ", el("code", nodes(error.rule))),
    error.remedy && el("p", "What helps: ", nodes(error.remedy)),
    error.requestId && el("p.quiet", "Request ", el("code", nodes(error.requestId))),
    again && button("Try again", again),
  );
}

/** A mistake of the page, and no answer of the server, is told where its makers look. */
function own(error) {
  if (error.status === undefined) console.error(error);
}

/** Does what a button says and reports how that went; the button cannot be pressed twice meanwhile. */
export async function perform(pressed, action, done) {
  pressed?.setAttribute("aria-busy", "true");
  if (pressed) pressed.disabled = true;
  try {
    const answer = await action();
    if (done) say(typeof done === "function" ? done(answer) : done);
    return answer;
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    own(error);
    say([line(error.message), error.rule && `Rule: ${error.rule}.`, error.remedy].filter(Boolean).join(" "), "bad");
    return undefined;
  } finally {
    pressed?.removeAttribute("aria-busy");
    if (pressed) pressed.disabled = false;
  }
}

/** A button that asks `title` and then does what cannot be taken back. */
export function dangerous(label, title, text, action, done) {
  const pressed = el("button.danger", {
    type: "button",
    async onclick() {
      if (!(await confirm(title, text, label, { tone: "danger" }))) return;
      if ((await perform(pressed, action)) !== undefined) await done();
    },
  }, label);
  return pressed;
}

/** Shows a dialog; resolves to what `close` is called with, or to null where it is dismissed. */
export function dialog(title, body) {
  return new Promise((resolve) => {
    const frame = el("dialog", { "aria-labelledby": "dialog-title" });
    const close = (value) => {
      frame.returnValue = "";
      resolve(value ?? null);
      frame.close();
    };
    const head = el("div.panel-head", el("h2", { id: "dialog-title" }, title), button("Close", () => close(null), { class: "plain" }));
    swap(frame, head, body(close));
    frame.addEventListener("close", () => {
      resolve(null);
      frame.remove();
    });
    document.body.append(frame);
    frame.showModal();
  });
}

/** Asks before something that cannot be taken back, with room for a comment where one is wanted. */
export function confirm(title, text, yes, { comment, tone } = {}) {
  return dialog(title, (close) => {
    const said = comment && el("textarea", { rows: "2", id: "confirm-comment", autofocus: true });
    const form = el(
      "form",
      {
        class: "stack",
        onsubmit(event) {
          event.preventDefault();
          close({ comment: said?.value.trim() || null });
        },
      },
      el("p", text),
      said && el("label", { for: "confirm-comment" }, comment),
      said,
      el("div.actions", el("button", { type: "submit", class: tone ?? "primary", autofocus: !comment }, yes), button("Back", () => close(null))),
    );
    return form;
  });
}
