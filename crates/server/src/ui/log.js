// What a task writes, as it writes it: both streams or one, followed, searched, downloaded. Lines are kept up to a
// bound; what is older is in the download.

import * as ansi from "./ansi.js";
import * as api from "./api.js";
import { button, el, save, swap } from "./dom.js";
import { nodes } from "./inert.js";
import { follow } from "./live.js";
import { perform } from "./notes.js";
import { count } from "./words.js";

const MOST_LINES = 5000;
const LONGEST = 20000;

/** A box with the log of one attempt of a task. */
export function log(task, attempt, signal) {
  const lines = el("ol.log-lines");
  const frame = el("div.log", { tabindex: "0", role: "log", "aria-label": "Output", "aria-live": "off" }, lines);
  const found = el("span.quiet.number", { role: "status" });
  const state = el("span.quiet", "");
  const dropped = el("p.quiet.small", { hidden: true });
  const following = el("input", { type: "checkbox", checked: true });
  const search = el("input", { type: "search", "data-search": true, placeholder: "search in the output", "aria-label": "Search in the output" });
  const stream = el("select", { "aria-label": "Streams" }, ["both streams", "stdout", "stderr"].map((name) => el("option", { value: name }, name)));
  const open = { stdout: null, stderr: null };
  const styles = { stdout: ansi.plain(), stderr: ansi.plain() };
  let waiting = [];
  let last = null;
  let gone = 0;
  let at = -1;

  const flush = () => {
    const batch = document.createDocumentFragment();
    for (const piece of waiting) {
      if (last && piece.attempt === last.attempt && piece.seq > last.seq + 1) skip(batch);
      last = piece;
      take(piece, batch);
    }
    waiting = [];
    lines.append(batch);
    while (lines.childElementCount > MOST_LINES) {
      lines.firstElementChild.remove();
      gone++;
    }
    dropped.hidden = gone === 0;
    dropped.textContent = `${count(gone, "earlier line")} not shown: download the output to see all.`;
    if (following.checked) frame.scrollTop = frame.scrollHeight;
    if (search.value) mark();
  };

  const take = ({ stream: from, text }, batch) => {
    const parts = text.split("\n");
    parts.forEach((part, index) => {
      if (!open[from] && (part !== "" || index < parts.length - 1)) {
        open[from] = el("li", { class: from });
        batch.append(open[from]);
      }
      if (part !== "") write(open[from], part, styles[from]);
      if (index < parts.length - 1) open[from] = null;
    });
  };

  // The server keeps the beginning and the end of each stream.
  const skip = (batch) => {
    open.stdout = open.stderr = null;
    batch.append(el("li.quiet", "… more was written than is kept: output is left out here …"));
  };

  const mark = () => {
    const wanted = search.value.toLowerCase();
    let hits = 0;
    for (const line of lines.children) {
      const isHit = wanted !== "" && line.textContent.toLowerCase().includes(wanted);
      line.classList.toggle("hit", isHit);
      line.classList.remove("at-hit");
      if (isHit) hits++;
    }
    at = -1;
    found.textContent = wanted ? count(hits, "line") : "";
  };

  const next = (by) => {
    const hits = lines.querySelectorAll(".hit");
    if (!hits.length) return;
    hits[at]?.classList.remove("at-hit");
    at = (at + by + hits.length) % hits.length;
    following.checked = false;
    hits[at].classList.add("at-hit");
    hits[at].scrollIntoView({ block: "center" });
    found.textContent = `${at + 1} of ${count(hits.length, "line")}`;
  };

  search.addEventListener("input", mark);
  search.addEventListener("keydown", (event) => event.key === "Enter" && next(event.shiftKey ? -1 : 1));
  stream.addEventListener("change", () => (frame.dataset.only = stream.value));
  following.addEventListener("change", flush);
  frame.addEventListener("wheel", (event) => event.deltaY < 0 && (following.checked = false), { passive: true });

  const path = `/v1/tasks/${task}/logs`;
  let timer = null;
  follow(path, {
    query: { attempt },
    signal,
    told({ data }) {
      const piece = JSON.parse(data);
      if (typeof piece.text !== "string") return;
      waiting.push(piece);
      timer ??= setTimeout(() => { timer = null; flush(); }, 60);
    },
    changed: (now) => (state.textContent = now === "open" ? "" : "reconnecting…"),
  }).then(
    () => {
      flush();
      state.textContent = lines.childElementCount ? "complete" : "nothing was written";
    },
    (error) => swap(state, nodes(error.message)),
  );

  return el(
    "div.log-box",
    el(
      "div.filter",
      stream,
      search,
      found,
      el("label.check", following, "Follow"),
      state,
      button("Download", (event) => perform(event.currentTarget, () => download(task, attempt))),
    ),
    dropped,
    frame,
  );
}

function write(line, text, style) {
  const shown = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  for (const piece of ansi.pieces(shown, style)) {
    if (piece.mark !== undefined) line.append(el("span.esc", { title: "a sequence that is not obeyed" }, "esc"));
    else line.append(el("span", { class: ansi.classOf(piece.style) || null }, nodes(piece.text, "\t")));
  }
  if (shown !== text) line.append(el("span.esc", `… ${text.length - shown.length} more characters`));
}

/** The very bytes that were written, stdout and stderr in the order in which they came. */
async function download(task, attempt) {
  const parts = [];
  for (const piece of await api.list(`/v1/tasks/${task}/logs`, { attempt }, 100000)) {
    parts.push(piece.data ? Uint8Array.from(atob(piece.data), (c) => c.charCodeAt(0)) : piece.text);
  }
  save(`task-${task}-${attempt}.log`, parts);
}
