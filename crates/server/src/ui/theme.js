// Light, dark, or as the system has it.

import { el } from "./dom.js";

const KEY = "cofferdam.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export function start() {
  show();
  system.addEventListener("change", show);
}

export function control() {
  const choose = el(
    "select",
    {
      "aria-label": "Colours",
      class: "plain",
      onchange() {
        localStorage.setItem(KEY, choose.value);
        show();
      },
    },
    ["System", "Light", "Dark"].map((theme) => el("option", { value: theme.toLowerCase() }, theme)),
  );
  choose.value = chosen();
  return choose;
}

function chosen() {
  return localStorage.getItem(KEY) ?? "system";
}

function show() {
  const theme = chosen() === "system" ? (system.matches ? "dark" : "light") : chosen();
  document.documentElement.dataset.theme = theme;
}
