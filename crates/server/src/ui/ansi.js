// The colours of a terminal, and nothing else of it. Colours become one of sixteen that can be read on this page, so no
// text can be painted over; "concealed" is not obeyed; whatever else an escape sequence would do is left out, and a
// mark stands where it was.

const SEQUENCE = /\u001b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~]?)|\u009b([0-9;]*)([@-~])/g;

/** What is in force from here on: handed from one line to the next. */
export function plain() {
  return { colour: null, bold: false, italic: false, underline: false };
}

/** Cuts a line into `{ text, style, mark }`; `style` is changed as the line says. */
export function pieces(text, style) {
  const out = [];
  let from = 0;
  const put = (until) => until > from && out.push({ text: text.slice(from, until), style: { ...style } });
  for (const found of text.matchAll(SEQUENCE)) {
    put(found.index);
    from = found.index + found[0].length;
    const [, codes = found[3], letter = found[4]] = found;
    if (letter === "m") obey(codes, style);
    else out.push({ mark: found[0] });
  }
  put(text.length);
  return out;
}

function obey(codes, style) {
  const numbers = codes.split(/[;:]/).map((code) => Number(code || 0));
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at];
    if (code === 0) Object.assign(style, plain());
    else if (code === 1) style.bold = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 22) style.bold = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code >= 30 && code <= 37) style.colour = code - 30;
    else if (code >= 90 && code <= 97) style.colour = code - 82;
    else if (code === 39) style.colour = null;
    else if (code === 38 || code === 48) {
      const isIndex = numbers[at + 1] === 5;
      if (code === 38) style.colour = isIndex ? nearest(numbers[at + 2]) : nearestOf(numbers.slice(at + 2, at + 5));
      at += isIndex ? 2 : 4;
    }
  }
}

/** One of the 256 as one of the sixteen. */
function nearest(index) {
  if (!(index >= 0 && index < 256)) return null;
  if (index < 16) return index;
  if (index >= 232) return index < 244 ? 8 : 7;
  const cube = index - 16;
  return nearestOf([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((part) => part * 51));
}

function nearestOf(parts) {
  if (parts.length < 3 || parts.some((part) => !(part >= 0 && part < 256))) return null;
  const bright = Math.max(...parts);
  if (bright < 60) return 8;
  const bits = parts.reduce((sum, part, bit) => sum + (part > bright * 0.6 ? 1 << bit : 0), 0);
  return bright > 200 ? bits + 8 : bits;
}

export function classOf(style) {
  const names = [style.colour !== null && `c${style.colour}`, style.bold && "b", style.italic && "i", style.underline && "u"];
  return names.filter(Boolean).join(" ");
}
