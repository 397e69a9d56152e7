// A unified diff, read and drawn: in one column or two, with colours and the changed words marked. What is drawn is
// text in nodes; nothing in a diff can become markup, and what cannot be seen is shown as an escape.

import { button, el, swap } from "./dom.js";
import { nodes } from "./inert.js";
import { marks } from "./marks.js";
import { colours, familyOf } from "./syntax.js";

const AT_ONCE = 1500;
/** How far a line that replaces another is looked for. */
const NEAR = 4;

/** Reads a diff of one file: `{ heads, remarks, hunks: [{ title, lines: [{ sign, text, old, fresh }] }] }`. */
export function parse(text) {
  const file = { heads: [], remarks: [], hunks: [] };
  let hunk = null;
  let left = 0;
  let right = 0;
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (start) {
      hunk = { title: line, lines: [] };
      file.hunks.push(hunk);
      [left, right] = [Number(start[1]), Number(start[2])];
    } else if (line.startsWith("diff --git ")) {
      hunk = null;
    } else if (hunk && (line === "" || " +-".includes(line[0]))) {
      const sign = line[0] ?? " ";
      hunk.lines.push({ sign, text: line.slice(1), old: sign === "+" ? null : left++, fresh: sign === "-" ? null : right++ });
    } else if (hunk && line.startsWith("\\")) {
      hunk.lines.push({ sign: "\\", text: line.slice(2), old: null, fresh: null });
    } else if (line.startsWith("!")) {
      file.remarks.push(line.slice(2));
    } else if (!/^(---|\+\+\+|index) /.test(line)) {
      file.heads.push(line);
    }
  }
  for (const { lines: changed } of file.hunks) pair(changed);
  return file;
}

/** Joins lines that were taken away with those put in their place, and marks the words that differ. */
function pair(lines) {
  for (let at = 0; at < lines.length; ) {
    if (lines[at].sign !== "-") {
      at++;
      continue;
    }
    const gone = [];
    while (lines[at]?.sign === "-") gone.push(lines[at++]);
    while (lines[at]?.sign === "\\") at++;
    const come = [];
    while (lines[at]?.sign === "+") come.push(lines[at++]);
    let next = 0;
    for (const before of gone) {
      for (let index = next; index < Math.min(come.length, next + NEAR); index++) {
        const found = marks(before.text, come[index].text);
        if (!found) continue;
        Object.assign(before, { partner: come[index], marks: found.before });
        Object.assign(come[index], { partner: before, marks: found.after });
        next = index + 1;
        break;
      }
    }
  }
}

/**
 * Draws what `parse` gave. `split`: old on the left, new on the right. `choice`, where hunks can be chosen, is
 * `{ isChosen(number), choose(number, isChosen) }`.
 */
export function draw(file, path, { split, choice }) {
  const family = familyOf(path);
  const place = el("div", { class: split ? "diff split" : "diff" });
  const units = file.hunks.flatMap((hunk, index) => [{ hunk, number: index + 1 }, ...(split ? sides(hunk.lines) : hunk.lines)]);
  let from = 0;
  const more = () => {
    const batch = document.createDocumentFragment();
    for (const unit of units.slice(from, from + AT_ONCE)) batch.append(unit.hunk ? title(unit, choice) : split ? both(unit, family) : single(unit, family));
    from += AT_ONCE;
    place.append(batch);
    if (from < units.length) place.append(button(`Show ${Math.min(AT_ONCE, units.length - from)} more of ${units.length - from} lines`, (event) => { event.currentTarget.remove(); more(); }, { class: "more" }));
  };
  more();
  return el("div", file.remarks.map((remark) => el("p.gate-remark", nodes(remark))), file.heads.length > 0 && el("p.quiet.small.mono", file.heads.map((head) => el("span.head-line", nodes(head)))), place);
}

function title({ hunk, number }, choice) {
  const text = el("span", nodes(hunk.title));
  if (!choice) return el("div.hunk", { "data-hunk": number }, text);
  const box = el("input", { type: "checkbox", checked: choice.isChosen(number), "aria-label": `Choose hunk ${number}`, onchange: () => choice.choose(number, box.checked) });
  return el("div.hunk", { "data-hunk": number }, el("label.check", box, `hunk ${number}`), text);
}

const CLASSES = { "+": "add", "-": "del", " ": "same", "\\": "tail" };
const SPOKEN = { "+": "added: ", "-": "removed: " };

function single(line, family) {
  return el(
    "div",
    { class: `dl ${CLASSES[line.sign]}` },
    el("span.no", { "data-no": line.old ?? "" }),
    el("span.no", { "data-no": line.fresh ?? "" }),
    el("span.sign", { "aria-hidden": "true" }, line.sign === " " ? "" : line.sign),
    SPOKEN[line.sign] && el("span.spoken", SPOKEN[line.sign]),
    code(line, family),
  );
}

function both([before, after], family) {
  const half = (line, side) => [
    el("span.no", { "data-no": (side ? line?.fresh : line?.old) ?? "" }),
    line ? el("span", { class: `half ${CLASSES[line.sign]}` }, SPOKEN[line.sign] && el("span.spoken", SPOKEN[line.sign]), code(line, family)) : el("span.half.none"),
  ];
  return el("div.dl", half(before, false), half(after, true));
}

/** Lines as pairs of old and new. */
function sides(lines) {
  const out = [];
  for (const line of lines) {
    if (line.sign === " " || line.sign === "\\") out.push([line, line]);
    else if (line.sign === "-") out.push([line, line.partner ?? null]);
    else if (!line.partner) out.push([null, line]);
  }
  return out;
}

/** The text, cut where a colour or a mark begins or ends. */
function code(line, family) {
  const place = el("code");
  const text = line.text;
  const painted = colours(text, family);
  const marked = line.marks ?? [];
  const cuts = [...new Set([0, text.length, ...painted.flatMap(([from, to]) => [from, to]), ...marked.flat()])].sort((a, b) => a - b);
  let p = 0;
  let m = 0;
  for (let index = 0; index + 1 < cuts.length; index++) {
    const [from, to] = [cuts[index], cuts[index + 1]];
    while (p < painted.length && painted[p][1] <= from) p++;
    while (m < marked.length && marked[m][1] <= from) m++;
    const colour = painted[p] && painted[p][0] <= from ? painted[p][2] : "";
    const isMarked = marked[m] && marked[m][0] <= from;
    const piece = nodes(text.slice(from, to), "\t");
    if (!colour && !isMarked) place.append(piece);
    else place.append(el(isMarked ? "mark" : "span", { class: colour ? `s-${colour}` : null }, piece));
  }
  return place;
}

export function replaceIn(place, text, path, options) {
  const file = parse(text);
  swap(place, file.hunks.length || file.heads.length || file.remarks.length ? draw(file, path, options) : el("p.quiet", "Nothing in its content changed."));
  return file;
}
