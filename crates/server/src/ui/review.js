// The heart: what a run changed, looked at file by file, and applied, discarded or taken back. What happened is told
// from the server's answer; the list is asked for anew after each step.

import * as api from "./api.js";
import { replaceIn } from "./diff.js";
import { button, el, empty, link, swap } from "./dom.js";
import { sentences, standing } from "./gate.js";
import { name, nodes } from "./inert.js";
import { bind } from "./keys.js";
import { perform, problem } from "./notes.js";
import { refreshOn } from "./news.js";
import { outcome, settle } from "./settle.js";
import { remember } from "./router.js";
import { may } from "./session.js";
import { Tree } from "./tree.js";
import { badge, count, titleOf } from "./words.js";

const CHANGES = { created: "+", modified: "~", deleted: "−", renamed: "→", retyped: "±" };
const VIEW = "cofferdam.diff";

export async function review({ show, signal, id, query }) {
  const path = `/v1/tasks/${id}`;
  const task = await api.get(path, {}, signal);
  const state = { entries: [], all: null, chosen: new Set(), hunks: new Map(), diffs: new Map(), at: null, loads: 0, split: localStorage.getItem(VIEW) === "split" };
  const gate = el("div");
  const result = el("div.stack", { role: "status" });
  const sum = el("span.quiet");
  const head = el("h2.diff-head", "No file is open");
  const reasons = el("div");
  const content = el("div.diff-place", { tabindex: "0", role: "region", "aria-label": "Difference" });

  const known = (wanted) => state.entries.find((entry) => entry.path === wanted);
  const tree = new Tree({
    signal,
    signs: (entry) => {
      const { tone, word } = standing(entry);
      return el("span.signs", word !== "review" && el("span", { class: `badge ${tone}` }, word), entry.classes.map((one) => el("span.badge.wait.class", one)), el("span", { class: `change ${entry.change}`, title: entry.change }, el("span", { "aria-hidden": "true" }, CHANGES[entry.change] ?? "·"), el("span.spoken", entry.change)));
    },
    moved: (row) => open(row),
    choice: {
      isChosen: (one) => state.chosen.has(one),
      isOpen: (one) => state.open.has(one),
      choose(paths, isChosen) {
        for (const one of paths) {
          if (isChosen) state.chosen.add(one);
          else state.chosen.delete(one);
          state.hunks.delete(one);
        }
        tally();
        if (state.at) open(tree.current);
      },
    },
  });

  const tally = () => {
    const partly = state.hunks.size;
    sum.textContent = state.chosen.size || partly ? `${count(state.chosen.size + partly, "file")} chosen${partly ? `, ${partly} in part` : ""}` : "Nothing is chosen: what you stand on is meant.";
  };

  let opening = null;
  const open = (row) => {
    const entry = row?.entry;
    opening?.abort();
    opening = new AbortController();
    state.at = entry ?? null;
    if (!entry) return;
    remember({ path: entry.path });
    swap(head, name(entry.path));
    swap(reasons, why(entry));
    if (entry.kind === "directory") return swap(content, el("p.quiet", `A directory, ${entry.change}.`));
    if (state.diffs.has(entry.path)) return paint(entry);
    const mine = opening.signal;
    const waiting = setTimeout(() => swap(content, el("p.quiet", "Loading…")), 120);
    // Whoever runs through the list does not ask for each.
    setTimeout(async () => {
      if (mine.aborted || signal.aborted) return clearTimeout(waiting);
      try {
        const answer = await api.get(`${path}/diff`, { path: entry.path }, mine);
        state.diffs.set(entry.path, answer);
        if (!mine.aborted) paint(entry);
      } catch (error) {
        if (!mine.aborted) swap(content, problem(error, () => open(row)));
      } finally {
        clearTimeout(waiting);
      }
    }, 40);
  };

  const paint = (entry) => {
    if (!state.diffs.has(entry.path)) return;
    const { diff, mark } = state.diffs.get(entry.path);
    // Numbers are those of one diff: once something was applied they mean other hunks.
    if (state.hunks.has(entry.path) && state.hunks.get(entry.path).mark !== mark) {
      state.hunks.delete(entry.path);
      tally();
    }
    const mine = state.hunks.get(entry.path)?.numbers;
    replaceIn(content, diff, entry.path, {
      split: state.split,
      choice: entry.change === "modified" && standing(entry).isOpen && may("review") && {
        isChosen: (number) => (mine ? mine.has(number) : state.chosen.has(entry.path)),
        choose(number, isChosen) {
          const boxes = [...content.querySelectorAll("[data-hunk]")].map((node) => [Number(node.dataset.hunk), node.querySelector("input").checked]);
          const taken = boxes.filter(([, checked]) => checked).map(([one]) => one);
          state.hunks.delete(entry.path);
          state.chosen.delete(entry.path);
          if (taken.length === boxes.length) state.chosen.add(entry.path);
          else if (taken.length) state.hunks.set(entry.path, { numbers: new Set(taken), mark });
          tally();
          tree.paint();
        },
      },
    });
  };

  const load = async () => {
    const turn = ++state.loads;
    const entries = await api.get(`${path}/changes`, {}, signal);
    // What was asked for before something was decided may come after it.
    if (signal.aborted || turn !== state.loads) return;
    state.entries = entries;
    state.open = new Set(entries.filter((entry) => standing(entry).isOpen && !entry.path_b64).map((entry) => entry.path));
    state.chosen = new Set([...state.chosen].filter((one) => state.open.has(one)));
    state.hunks = new Map([...state.hunks].filter(([one]) => state.open.has(one)));
    state.diffs.clear();
    narrow();
    tally();
    swap(gate, entries.length ? sentences(entries) : empty("Nothing is pending: all of it was applied or discarded, or nothing was changed."));
    if (!entries.length) {
      swap(head, "No file is open");
      swap(reasons);
      swap(content);
    } else open(tree.current);
  };

  /** Applies or discards what is chosen, or what one stands on. */
  const decide = async (verb, pressed) => {
    const chosen = state.chosen.size || state.hunks.size ? [...state.chosen] : state.at && state.open.has(state.at.path) ? [state.at.path] : [];
    const steps = await settle(verb, chosen.map(known).filter(Boolean), [...state.hunks].map(([one, { numbers, mark }]) => ({ entry: known(one), numbers: [...numbers].sort((a, b) => a - b), mark })), state.isLarge);
    if (steps.length) swap(result);
    for (const [step, body] of steps) {
      const answer = await perform(pressed, () => api.post(`${path}/${step}`, body));
      if (!answer) return;
      await told(step, answer);
      if (answer.outcome === "refused") return;
    }
  };
  const told = async (verb, answer) => {
    result.append(outcome(verb, answer));
    result.scrollIntoView({ block: "nearest" });
    state.isLarge = (answer.refused ?? []).some((one) => one.why === "budget");
    if (answer.outcome !== "refused") {
      state.chosen.clear();
      state.hunks.clear();
    }
    await load().catch((error) => swap(gate, problem(error, load)));
  };
  const undo = async (pressed) => {
    const answer = await perform(pressed, () => api.post(`${path}/undo`));
    swap(result);
    if (answer) await told("undo", answer);
  };
  const turn = () => {
    state.split = !state.split;
    localStorage.setItem(VIEW, state.split ? "split" : "unified");
    turning.textContent = state.split ? "Unified" : "Side by side";
    if (state.at) paint(state.at);
  };

  const free = button("Choose what is free", () => {
    for (const entry of state.entries) if (standing(entry).isOpen && !entry.blocks.length && !entry.conflict && !entry.path_b64) state.chosen.add(entry.path);
    tally();
    tree.paint();
  });
  const none = button("Choose nothing", () => {
    state.chosen.clear();
    state.hunks.clear();
    tally();
    tree.paint();
    if (state.at) open(tree.current);
  });
  const turning = button(state.split ? "Unified" : "Side by side", turn);
  const search = el("input", { type: "search", "data-search": true, "aria-label": "Search in paths", placeholder: "search in paths", oninput: () => narrow() });
  const narrow = () => tree.set(state.entries.filter((entry) => entry.path.toLowerCase().includes(search.value.toLowerCase())));
  const applying = button("Apply", () => decide("apply", applying), { class: "primary" });
  const discarding = button("Discard", () => decide("discard", discarding), { class: "danger" });
  const undoing = button("Undo", () => undo(undoing));

  let failure = null;
  await load().catch((error) => {
    if (error.name === "AbortError" || error.status === 401) throw error;
    failure = error;
  });
  show(
    `Review ${titleOf(task)}`,
    el("p.crumbs", link("#/tasks", "Tasks"), " / ", link(`#/tasks/${id}`, name(titleOf(task)))),
    el("div.title", el("h1", "Review ", badge(task.state)), may("review") && !failure && el("div.actions", sum, applying, discarding, undoing)),
    failure && problem(failure, () => location.reload()),
    result,
    !failure && gate,
    !failure &&
      el(
        "div.review",
        el("div.files", el("div.filter", search, free, none), tree.node),
        el("div.file", el("div.panel-head", head, turning), reasons, content),
      ),
  );
  if (failure) return;
  tree.paint();
  if (query.path) tree.goTo(query.path);
  if (!state.at) open(tree.current);

  bind("j", "next file", () => tree.step(1), signal);
  bind("k", "previous file", () => tree.step(-1), signal);
  bind("Enter", "into the difference", () => content.focus(), signal);
  bind(" ", "choose or not", () => tree.toggle(), signal);
  bind("x", "choose or not", () => tree.toggle(), signal);
  bind("s", "side by side, or one column", turn, signal);
  if (may("review")) {
    bind("a", "apply", () => decide("apply", applying), signal);
    bind("d", "discard", () => decide("discard", discarding), signal);
    bind("u", "undo the latest apply", () => undo(undoing), signal);
  }
  refreshOn((event) => event.task === id && event.type.startsWith("changes."), load, signal);
}

function why(entry) {
  const { word, tone } = standing(entry);
  return el(
    "div.reasons",
    el("span", { class: `badge ${tone}` }, word),
    el("span.quiet", [entry.change, entry.kind, entry.mode, entry.size !== undefined && `${entry.size} bytes`].filter(Boolean).join(", ")),
    entry.from && el("span", "moved from ", name(entry.from)),
    entry.target && el("span", "leads to ", name(entry.target)),
    entry.conflict && el("p.bad", "On the host: ", nodes(typeof entry.conflict === "string" ? entry.conflict : JSON.stringify(entry.conflict))),
    entry.reasons.map((reason) => el("p", nodes(reason))),
    entry.path_b64 && el("p", "Its name is not text. Apply or discard it with the command line."),
  );
}
