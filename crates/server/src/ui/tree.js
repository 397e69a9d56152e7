// Changed paths as a tree of which only the part in sight has nodes: five thousand files cost as much as fifty.

import { el } from "./dom.js";
import { line, name } from "./inert.js";

const HEIGHT = 30;
const AROUND = 8;

export class Tree {
  /**
   * `entries` are `{ path, … }`; `signs(entry)` gives nodes for the end of a row; `moved(entry)` is told where the
   * user stands; `choice` is `{ isChosen(path), isOpen(path) (may it be chosen), choose(paths, isChosen) }`.
   */
  constructor({ signs, moved, choice, signal }) {
    Object.assign(this, { signs, moved, choice, closed: new Set(), rows: [], shown: new Map(), at: 0, root: null });
    this.sheet = el("div.tree-sheet", { role: "presentation" });
    this.node = el("div.tree", { role: "tree", tabindex: "0", "aria-label": "Changed files", "aria-multiselectable": "true", onscroll: () => this.#soon() }, this.sheet);
    this.node.addEventListener("keydown", (event) => this.#key(event));
    const watcher = new ResizeObserver(() => this.#soon());
    watcher.observe(this.node);
    signal.addEventListener("abort", () => watcher.disconnect(), { once: true });
  }

  /** Shows other entries; the user stays on the path where they were, if it is still there. */
  set(entries) {
    const was = this.rows[this.at]?.path;
    this.root = grow(entries);
    this.#flatten();
    const again = this.rows.findIndex((row) => row.path === was);
    this.at = again >= 0 ? again : Math.min(this.at, Math.max(0, this.rows.length - 1));
    if (again < 0 && !this.rows[this.at]?.entry?.path) this.at = Math.max(0, this.rows.findIndex((row) => !row.isDirectory));
    this.paint();
  }

  get current() {
    return this.rows[this.at] ?? null;
  }

  /** Opens whatever hides `path`, and goes there. */
  goTo(path) {
    const parts = path.split("/");
    for (let depth = 1; depth < parts.length; depth++) this.closed.delete(parts.slice(0, depth).join("/"));
    this.#flatten();
    const index = this.rows.findIndex((row) => row.path === path);
    if (index >= 0) this.#stand(index);
    else this.paint();
  }

  step(by) {
    this.#stand(Math.min(this.rows.length - 1, Math.max(0, this.at + by)));
  }

  toggle(row = this.current) {
    if (!row) return;
    const paths = below(row).filter((path) => this.choice.isOpen(path));
    const isAll = paths.length > 0 && paths.every((path) => this.choice.isChosen(path));
    this.choice.choose(paths, !isAll);
    this.paint();
  }

  #stand(index) {
    if (!this.rows[index]) return;
    this.at = index;
    const top = index * HEIGHT;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + HEIGHT > this.node.scrollTop + this.node.clientHeight) this.node.scrollTop = top + HEIGHT - this.node.clientHeight;
    this.paint();
    this.moved(this.rows[index]);
  }

  #flatten() {
    this.rows = [];
    const walk = (node, depth) => {
      for (const child of node.children.values()) {
        this.rows.push(Object.assign(child, { depth }));
        if (child.isDirectory && !this.closed.has(child.path)) walk(child, depth + 1);
      }
    };
    if (this.root) walk(this.root, 0);
    this.sheet.style.height = `${this.rows.length * HEIGHT}px`;
  }

  #fold(row, isClosed) {
    if (isClosed) this.closed.add(row.path);
    else this.closed.delete(row.path);
    this.#flatten();
    this.at = Math.max(0, this.rows.indexOf(row));
    this.paint();
  }

  #soon() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.#slide();
    });
  }

  /** Draws all that is in sight anew. */
  paint() {
    this.shown.clear();
    this.sheet.replaceChildren();
    this.#slide();
  }

  /** Draws what has come into sight, and lets go of what has left it. */
  #slide() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(this.rows.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / HEIGHT) + AROUND);
    for (const [index, node] of this.shown) {
      if (index >= first && index < last) continue;
      node.remove();
      this.shown.delete(index);
    }
    const fresh = document.createDocumentFragment();
    for (let index = first; index < last; index++) {
      if (this.shown.has(index)) continue;
      const node = this.#row(this.rows[index], index);
      this.shown.set(index, node);
      fresh.append(node);
    }
    this.sheet.append(fresh);
    if (this.rows.length) this.node.setAttribute("aria-activedescendant", `tree-${this.at}`);
    else this.node.removeAttribute("aria-activedescendant");
  }

  #row(row, index) {
    const paths = below(row).filter((path) => this.choice.isOpen(path));
    const chosen = paths.filter((path) => this.choice.isChosen(path)).length;
    const state = chosen === 0 ? "false" : chosen === paths.length ? "true" : "mixed";
    const node = el(
      "div",
      {
        id: `tree-${index}`,
        class: index === this.at ? "tree-row at" : "tree-row",
        role: "treeitem",
        "aria-level": row.depth + 1,
        "aria-setsize": this.rows.length,
        "aria-posinset": index + 1,
        "aria-checked": state,
        "aria-selected": index === this.at ? "true" : "false",
        "aria-expanded": row.isDirectory ? String(!this.closed.has(row.path)) : null,
        title: line(row.path),
        onclick: (event) => {
          this.node.focus({ preventScroll: true });
          if (event.target.closest(".tick")) {
            this.at = index;
            this.toggle(row);
          } else if (row.isDirectory && event.target.closest(".twist")) this.#fold(row, !this.closed.has(row.path));
          else this.#stand(index);
        },
      },
      el("span", { class: `tick ${paths.length ? state : "never"}`, "aria-hidden": "true" }),
      el("span", { class: row.isDirectory ? "twist" : "leaf", "aria-hidden": "true" }, row.isDirectory ? (this.closed.has(row.path) ? "▸" : "▾") : ""),
      name(row.label, "path"),
      row.entry ? this.signs(row.entry) : null,
    );
    node.style.transform = `translateY(${index * HEIGHT}px)`;
    node.style.paddingInlineStart = `${8 + row.depth * 14}px`;
    return node;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length };
    const row = this.current;
    if (steps[event.key]) this.step(steps[event.key]);
    else if (event.key === " ") this.toggle();
    else if (event.key === "ArrowRight" && row?.isDirectory) this.#fold(row, false);
    else if (event.key === "ArrowLeft" && row?.isDirectory) this.#fold(row, true);
    else return;
    event.preventDefault();
  }
}

/** Paths that a row stands for: its own, and all below it. */
export function below(row) {
  if (!row.paths) {
    row.paths = row.entry ? [row.entry.path] : [];
    for (const child of row.children?.values() ?? []) row.paths.push(...below(child));
  }
  return row.paths;
}

/** Nodes by name, in the order of their paths; directories first. */
function grow(entries) {
  const root = { path: "", children: new Map(), isDirectory: true };
  for (const entry of [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    let node = root;
    const parts = entry.path.split("/");
    parts.forEach((part, index) => {
      let child = node.children.get(part);
      if (!child) {
        child = { path: parts.slice(0, index + 1).join("/"), label: part, children: new Map(), isDirectory: false };
        node.children.set(part, child);
        node.isDirectory = true;
      }
      node = child;
    });
    node.entry = entry;
    node.isDirectory ||= entry.kind === "directory";
  }
  order(root);
  return root;
}

function order(node) {
  for (const child of node.children.values()) if (child.children.size) order(child);
  const sorted = [...node.children.values()].sort((a, b) => Number(b.isDirectory) - Number(a.isDirectory) || (a.label < b.label ? -1 : 1));
  node.children = new Map(sorted.map((child) => [child.label, child]));
}
