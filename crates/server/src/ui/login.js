// The way in. A token is tried against `/v1/me` before anything else is shown.

import * as api from "./api.js";
import { el, swap } from "./dom.js";
import { nodes } from "./inert.js";
import * as session from "./session.js";

/** Shows the form in `place`; calls `entered` when a token was accepted. */
export function show(place, reason, entered) {
  const field = el("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-error token-hint" });
  const keep = el("input", { id: "keep", type: "checkbox" });
  const error = el("p", { id: "token-error", class: "field-error", role: "alert" });
  const submit = el("button", { type: "submit", class: "primary" }, "Sign in");
  const form = el(
    "form",
    {
      class: "login panel stack",
      async onsubmit(event) {
        event.preventDefault();
        submit.disabled = true;
        error.textContent = "";
        const problem = await enter(field.value.trim(), keep.checked);
        submit.disabled = false;
        if (!problem) return entered();
        swap(error, nodes(problem.status === 401 ? "This token is not known, or no longer valid." : problem.message));
        field.focus();
      },
    },
    el("img", { src: "/ui/icon.svg", alt: "", width: "40", height: "40" }),
    el("h1", "Cofferdam"),
    reason ? el("p.problem", { role: "alert" }, reason) : el("p.quiet", "Sign in with a token of this server."),
    el("label", { for: "token" }, "Token"),
    field,
    error,
    el("label.check", keep, "Stay signed in until this tab is closed"),
    submit,
    el(
      "p",
      { id: "token-hint", class: "quiet small" },
      "The first token was shown when the server was started for the first time. Make others with ",
      el("code", "cofferdam token create"),
      ".",
    ),
  );
  swap(place, form);
  field.focus();
}

/** Tries a token; the problem, where there is one. */
export async function enter(secret, keep) {
  session.attempt(secret);
  try {
    session.begin(secret, await api.get("/v1/me"), keep);
    return null;
  } catch (problem) {
    session.end();
    return problem;
  }
}
