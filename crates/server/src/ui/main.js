// The page from above: sign in, the bar, and which view belongs to which address.

import { button, el, link, swap } from "./dom.js";
import { name } from "./inert.js";
import * as keys from "./keys.js";
import * as login from "./login.js";
import * as news from "./news.js";
import { problem } from "./notes.js";
import * as router from "./router.js";
import * as session from "./session.js";
import * as theme from "./theme.js";
import { approvals } from "./approvals.js";
import { events } from "./events.js";
import { newTask } from "./newtask.js";
import { overview } from "./overview.js";
import { policy } from "./policy.js";
import { project, projects } from "./projects.js";
import { review } from "./review.js";
import { role, roles } from "./roles.js";
import { runner, runners } from "./runners.js";
import { task } from "./task.js";
import { tasks } from "./tasks.js";
import { template, templates } from "./templates.js";
import { tokens } from "./tokens.js";
import { refreshTimes } from "./words.js";
import { workflow, workflows } from "./workflows.js";

const VIEWS = [
  ["/", overview],
  ["/tasks", tasks],
  ["/tasks/new", newTask],
  ["/tasks/:id", task],
  ["/tasks/:id/review", review],
  ["/approvals", approvals],
  ["/workflows", workflows],
  ["/workflows/:id", workflow],
  ["/templates", templates],
  ["/templates/:id", template],
  ["/projects", projects],
  ["/projects/:id", project],
  ["/roles", roles],
  ["/roles/:id", role],
  ["/policy", policy],
  ["/runners", runners],
  ["/runners/:id", runner],
  ["/tokens", tokens],
  ["/events", events],
];

const PLACES = [
  ["/", "Overview"],
  ["/tasks", "Tasks"],
  ["/approvals", "Approvals"],
  ["/workflows", "Workflows"],
  ["/templates", "Templates"],
  ["/projects", "Projects"],
  ["/roles", "Roles"],
  ["/policy", "Policy"],
  ["/runners", "Runners"],
  ["/tokens", "Tokens", "admin"],
  ["/events", "Events"],
];

const main = document.getElementById("main");
const bar = document.getElementById("bar");
const connection = document.getElementById("connection");
let views = null;

function bars() {
  swap(
    bar,
    link("#/", el("img", { src: "/ui/icon.svg", alt: "", width: "24", height: "24" }), el("span.brand", "Cofferdam")),
    el(
      "nav",
      { "aria-label": "Pages" },
      PLACES.filter(([, , scope]) => !scope || session.may(scope)).map(([path, label]) => link(`#${path}`, label)),
    ),
    el(
      "div.bar-end",
      el("span", { id: "live", class: "live" }, "Connecting…"),
      el("span.who", { title: `Scopes: ${(session.me.scopes ?? []).join(", ")}` }, name(session.me.actor ?? "")),
      theme.control(),
      button("Keys", keys.help, { class: "plain", title: "Keyboard (?)" }),
      button("Sign out", () => session.end(), { class: "plain" }),
    ),
  );
  bar.hidden = false;
}

function mark(path) {
  for (const item of bar.querySelectorAll("nav a")) {
    const place = item.getAttribute("href").slice(1);
    const isHere = place === "/" ? path === "/" : path === place || path.startsWith(`${place}/`);
    if (!isHere) item.removeAttribute("aria-current");
    else {
      item.setAttribute("aria-current", "page");
      item.parentNode.scrollLeft = item.offsetLeft - 80;
    }
  }
}

async function render(view, params, signal) {
  mark(router.current().path);
  document.querySelector("dialog")?.close();
  scrollTo(0, 0);
  main.setAttribute("aria-busy", "true");
  if (!view) {
    document.title = "Not found · Cofferdam";
    main.removeAttribute("aria-busy");
    return swap(main, el("h1", "Nothing is here"), el("p", "This address names no page. ", link("#/", "Back to the overview")));
  }
  const waiting = setTimeout(() => swap(main, el("div.loading", { role: "status" }, "Loading…")), 150);
  const show = (title, ...children) => {
    clearTimeout(waiting);
    if (signal.aborted) return;
    document.title = `${title} · Cofferdam`;
    swap(main, ...children);
    main.removeAttribute("aria-busy");
  };
  try {
    await view({ show, signal, ...params });
  } catch (error) {
    clearTimeout(waiting);
    if (signal.aborted || error.name === "AbortError" || !session.me) return;
    show("Problem", el("h1", error.status === 404 ? "Not found" : "This cannot be shown"), problem(error, () => views.again()));
  }
}

function connected(state, pause) {
  const live = document.getElementById("live");
  const isOpen = state === "open";
  if (live) {
    live.textContent = isOpen ? "Live" : state === "broken" ? "Reconnecting…" : "Not live";
    live.className = `live ${isOpen ? "good" : "bad"}`;
  }
  connection.hidden = isOpen;
  if (!isOpen) {
    connection.textContent =
      state === "broken"
        ? `The connection to the server is lost. What you see may be old; trying again in ${(pause / 1000).toFixed(1)} s.`
        : `No live news: ${pause?.message ?? "the stream was refused"}`;
  }
}

function enter() {
  bars();
  if (views) views.again();
  else views = router.start(render);
  news.start(connected);
}

function leave(reason) {
  news.stop();
  views?.stop();
  bar.hidden = true;
  connection.hidden = true;
  document.querySelector("dialog")?.close();
  document.title = "Sign in · Cofferdam";
  login.show(main, reason, enter);
}

async function begin() {
  for (const [pattern, view] of VIEWS) router.route(pattern, view);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  theme.start();
  setInterval(refreshTimes, 5000);
  keys.start();
  session.onEnd(leave);
  const kept = session.kept();
  if (kept && !(await login.enter(kept, true))) return enter();
  leave(null);
}

begin();
