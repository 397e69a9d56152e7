// Making nodes. Data becomes text or an attribute, never markup: this is the only way nodes are made on this page, and
// the content security policy refuses any other.

const SVG = "http://www.w3.org/2000/svg";

/**
 * `el("a.class", { href, onclick: f }, "text", node, [more])`: attributes may be missing, and what is null or false is
 * left out.
 */
export function el(tag, ...rest) {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElement(name), classes, rest);
}

export function svg(tag, ...rest) {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElementNS(SVG, name), classes, rest);
}

function fill(node, classes, rest) {
  if (classes.length) node.setAttribute("class", classes.join(" "));
  const hasAttributes = rest[0] && Object.getPrototypeOf(rest[0]) === Object.prototype;
  const children = hasAttributes ? rest.slice(1) : rest;
  for (const [name, value] of Object.entries(hasAttributes ? rest[0] : {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) {
      node.addEventListener(name.slice(2), value);
    } else if (name === "value" || name === "checked" || name === "indeterminate") {
      node[name] = value;
    } else {
      if (name === "href" && !/^(#|\/(?!\/)|blob:)/.test(value)) throw new Error("a link leads out of this page");
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  put(node, children);
  return node;
}

function put(node, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) put(node, child);
    else node.append(child);
  }
}

/** Puts other children in the place of those that are there. */
export function swap(node, ...children) {
  const fresh = document.createDocumentFragment();
  put(fresh, children);
  node.replaceChildren(fresh);
  return node;
}

/** `swap`, where `data` is other than it was. The row that is stood on stays that row, and the focus stays on it, or on the control with the same words in it. */
export function renew(node, data, ...children) {
  const key = JSON.stringify(data);
  if (node.shownData === key) return;
  node.shownData = key;
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const [stood, held] = [node.querySelector("[data-row].at"), focused?.closest("[data-row]")].map((one) => one?.dataset.row);
  swap(node, ...children.map((child) => (typeof child === "function" ? child() : child)));
  const again = (place) => place && node.querySelector(`[data-row="${CSS.escape(place)}"]`);
  again(stood)?.classList.add("at");
  if (!focused) return;
  const within = again(held);
  const control = [...(within ?? node).querySelectorAll("a, button")].find((one) => one.textContent === focused.textContent);
  if (!control) within?.setAttribute("tabindex", "-1");
  (control ?? within)?.focus({ preventScroll: true });
}

export function button(label, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, label);
}

export function link(href, ...children) {
  return el("a", { href }, ...children);
}

/** A box with a heading. `more` stands on the right of it. */
export function panel(title, more, ...children) {
  return el("section.panel", el("div.panel-head", el("h2", title), more), children);
}

/** Rows of `[term, description]`; rows without a description are left out. */
export function facts(rows) {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return el("dl.facts", shown.map(([term, value]) => [el("dt", term), el("dd", value)]));
}

/** A frame that scrolls by itself, also by the keyboard. */
export function scroller(label, ...children) {
  return el("div.scroll", { tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/** A table in a frame that scrolls by itself. `columns` are headings, `rows` arrays of cells. */
export function table(label, columns, rows) {
  return scroller(
    label,
    el(
      "table",
      el("thead", el("tr", columns.map((column) => el("th", { scope: "col" }, column || el("span.spoken", "Actions"))))),
      el("tbody", rows),
    ),
  );
}

/** A row that the keyboard can stand on; Enter opens `href`. */
export function row(href, ...cells) {
  return el("tr", { "data-row": href ?? "" }, cells.map((cell) => el("td", cell)));
}

export function empty(text, ...more) {
  return el("div.empty", el("p", text), ...more);
}

/** Gives the user a file. It is never opened here, whatever it holds. */
export function save(fileName, parts) {
  const address = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  el("a", { href: address, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
