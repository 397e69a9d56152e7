// Which words of a changed line are the changed ones.

const MOST = 300;

/** Ranges in the old and in the new text; null where the two have little in common or are too long to compare. */
export function marks(before, after) {
  const a = words(before);
  const b = words(after);
  if (a.length > MOST || b.length > MOST) return null;
  const common = subsequence(a, b);
  const kept = common.reduce((sum, [i]) => sum + a[i].text.trim().length, 0);
  if (kept * 3 < Math.max(before.trim().length, after.trim().length)) return null;
  return { before: others(a, common.map(([i]) => i)), after: others(b, common.map(([, j]) => j)) };
}

function words(text) {
  return [...text.matchAll(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu)].map((found) => ({ text: found[0], from: found.index, to: found.index + found[0].length }));
}

/** The longest common subsequence, as pairs of places. */
function subsequence(a, b) {
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i].text === b[j].text ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i].text === b[j].text) pairs.push([i++, j++]);
    else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** Ranges of the words that are not at one of `places`; neighbours are joined. */
function others(list, places) {
  const common = new Set(places);
  const out = [];
  list.forEach((word, index) => {
    if (common.has(index)) return;
    const last = out.at(-1);
    if (last && last[1] === word.from) last[1] = word.to;
    else out.push([word.from, word.to]);
  });
  return out;
}
