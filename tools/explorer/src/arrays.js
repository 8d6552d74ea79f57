// An array in the page: few entries as a table, many as a heat map.

import { decoded, short, valueText } from "./numbers.js";

const MOST_CELLS = 48;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export { element };

/** A value as an element: text, a table of entries, or a heat map with its range. */
export function valueElement(value, name) {
  if (value === null || value === undefined) return element("span", { textContent: "" });
  if (typeof value !== "object" || !value.data.length || !value.shape?.length) {
    return element("span", { textContent: valueText(value) });
  }
  const [rows, columns] = value.shape.length === 1 ? [1, value.data.length]
    : value.shape.map((n, axis) => Math.ceil(n / value.stride[axis]));
  const isWhole = value.stride.every((step) => step === 1);
  if (isWhole && value.data.length <= MOST_CELLS && columns <= 8) return tableOf(value, rows, columns);
  return heatMap(value, rows, columns, isWhole, name);
}

function tableOf(value, rows, columns) {
  const body = element("tbody");
  for (let i = 0; i < rows; i += 1) {
    const row = value.data.slice(i * columns, (i + 1) * columns);
    body.append(element("tr", {}, ...row.map((x) => element("td", { textContent: short(decoded(x)) }))));
  }
  return element("table", { className: "entries" }, body);
}

/** Blue below zero, red above, the paper's color at zero: the same scale on both sides. */
function cellColor(x, most) {
  const share = Math.min(1, Math.abs(x) / most);
  return Number.isNaN(x) ? "#808080" : x < 0 ? `rgb(33 102 172 / ${share})` : `rgb(200 40 50 / ${share})`;
}

const MOST_COLUMNS = 24;
const MOST_ROWS = 6;

/** An array as colored cells in a place of the graph: a sample of rows and columns, if it has many. */
export function drawCells(context, value, x, y, width, height) {
  const [rows, columns] = value.shape.length === 1 ? [1, value.shape[0]] : value.shape;
  const across = Math.ceil(columns / (value.stride.at(-1) ?? 1));
  const down = value.shape.length === 1 ? 1 : Math.ceil(rows / value.stride[0]);
  const [m, n] = [Math.min(down, MOST_ROWS), Math.min(across, MOST_COLUMNS)];
  const most = Math.max(...value.data.map((item) => (Number.isFinite(item) ? Math.abs(item) : 0))) || 1;
  for (let i = 0; i < m; i += 1) {
    for (let j = 0; j < n; j += 1) {
      const item = value.data[Math.floor((i * down) / m) * across + Math.floor((j * across) / n)];
      context.fillStyle = cellColor(Number(item), most);
      context.fillRect(x + (j * width) / n, y + (i * height) / m, width / n, height / m);
    }
  }
  context.lineWidth = 0.6;
  context.strokeRect(x, y, width, height);
}

function heatMap(value, rows, columns, isWhole, name) {
  const numbers = value.data.map((x) => Number(decoded(x)));
  const finite = numbers.filter(Number.isFinite);
  const low = finite.length ? Math.min(...finite) : NaN;
  const high = finite.length ? Math.max(...finite) : NaN;
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const side = Math.max(1, Math.min(8, Math.floor(280 / columns)));
  const tall = rows === 1 ? 18 : side;
  const canvas = element("canvas", { width: columns * side, height: rows * tall, className: "heat" });
  canvas.setAttribute("role", "img");
  const range = `${short(low)} to ${short(high)}`;
  canvas.setAttribute("aria-label", `Heat map of ${name}: ${value.text}, entries from ${range}`);
  const context = canvas.getContext("2d");
  numbers.forEach((x, k) => {
    context.fillStyle = cellColor(x, most);
    context.fillRect((k % columns) * side, Math.floor(k / columns) * tall, side, tall);
  });
  const part = isWhole ? "" : `, every ${value.stride.join(" × ")}th entry`;
  const note = element("div", { textContent: `${value.text}: ${range}${part}` });
  return element("div", {}, canvas, note);
}
