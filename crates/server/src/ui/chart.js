// Small charts in SVG. Each says in words what it shows; nothing is told by colour alone.

import { el, svg } from "./dom.js";
import { stateOf } from "./words.js";

/** Columns over time. `points` are `{ label, value, part, title }`; `part` of the value is what went wrong. */
export function columns(label, points) {
  const most = Math.max(1, ...points.map((point) => point.value));
  const step = 100 / Math.max(1, points.length);
  const bars = points.map((point, index) => {
    const height = (point.value / most) * 44;
    const wrong = ((point.part ?? 0) / most) * 44;
    const place = { x: index * step + step * 0.12, width: step * 0.76 };
    return svg(
      "g",
      svg("title", point.title),
      svg("rect.bar-mark", { ...place, y: 46 - height, height: Math.max(height, point.value ? 1 : 0.4) }),
      wrong > 0 && svg("rect.share.bad", { ...place, y: 46 - wrong, height: wrong }),
    );
  });
  return el(
    "figure.chart",
    svg("svg", { viewBox: "0 0 100 47", preserveAspectRatio: "none", role: "img", "aria-label": label }, bars),
    el("figcaption", el("span", points[0]?.label ?? ""), el("span", `most: ${most}`, points.some((point) => point.part) && [", of them ", el("i.key.bad"), "failed"]), el("span", points.at(-1)?.label ?? "")),
  );
}

/** One bar cut into parts, with a legend that has the numbers. `parts` are `[state, count]`. */
export function shares(label, parts) {
  const shown = parts.filter(([, amount]) => amount > 0);
  const sum = shown.reduce((total, [, amount]) => total + amount, 0) || 1;
  let x = 0;
  const pieces = shown.map(([state, amount]) => {
    const width = (amount / sum) * 100;
    const piece = svg("rect", { class: `share ${stateOf(state).tone}`, x, y: 0, width: Math.max(0.5, width - 0.4), height: 6 }, svg("title", `${stateOf(state).word}: ${amount}`));
    x += width;
    return piece;
  });
  return el(
    "figure.chart",
    svg("svg.thin", { viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": `${label}: ${shown.map(([state, amount]) => `${stateOf(state).word} ${amount}`).join(", ")}` }, pieces),
    el("figcaption.legend", shown.map(([state, amount]) => el("span", el("i", { class: `key ${stateOf(state).tone}` }), `${stateOf(state).sign} ${stateOf(state).word} ${amount}`))),
  );
}

/** How much of a limit was used. */
export function gauge(label, used, limit, usedText, limitText) {
  const share = limit ? Math.min(1, used / limit) : 0;
  const tone = share > 0.9 ? "bad" : share > 0.7 ? "wait" : "busy";
  return el(
    "div.gauge",
    el("span", label),
    limit
      ? svg(
          "svg.thin",
          { viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": `${label}: ${usedText} of ${limitText}` },
          svg("rect.rail", { width: 100, height: 6 }),
          svg("rect", { class: `share ${tone}`, width: Math.max(0.6, share * 100), height: 6 }),
        )
      : el("span.quiet", "no limit known"),
    el("span.number", usedText, limit ? el("span.quiet", ` of ${limitText}`) : null),
  );
}
