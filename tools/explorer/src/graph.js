// The graph on a canvas: only what is in view is drawn, and no more of it than can be read at that scale.

import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { drawCells } from "./arrays.js";
import { arranged, Scene } from "./layout.js";

const FONT = "system-ui, sans-serif";
const LINE = 16;
const FAR = 0.15; // the scale below which outlines are left out
const FEWEST_PIXELS = 2; // of an edge that is drawn
const LEGIBLE = 0.35; // the scale below which no text is drawn
const TALL = 30;
const NARROWEST = 152; // room for a value and a gradient with four digits
const MARGIN = 12; // pixels around the graph where all of it is in view
const LABEL = { font: `11px ${FONT}`, most: 110, height: 16 }; // the text of an edge

const cuts = new Map(); // texts as they were cut, since measuring takes most of the time of a frame
const MOST_CUTS = 20_000;

/** The text cut to a width, with an ellipsis. */
function fitted(context, text, width) {
  const key = `${Math.round(width)} ${context.font} ${text}`;
  if (!cuts.has(key)) {
    if (cuts.size > MOST_CUTS) cuts.clear();
    cuts.set(key, cut(context, text, width));
  }
  return cuts.get(key);
}

function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
  return `${text.slice(0, length)}…`;
}

/** The linear map of an edge in few characters: a factor, or what becomes of the gradient g; empty if unknown. */
function mapLabel(map) {
  if (!map || map.pullback.startsWith("pullback")) return "";
  if (map.slope) return `×${/ /.test(map.slope) ? `(${map.slope})` : map.slope}`;
  return map.pullback === "g" ? "" : map.pullback;
}

function boxPath(context, box, radius) {
  const { x, y, width, height } = box;
  context.beginPath();
  context.roundRect(x - width / 2, y - height / 2, width, height, radius);
}

export class Graph {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{text: (node: number) => object, mark: (node: number) => object, groupText: (group: number) => object,
   *   onSelect: (node: number) => void, onToggle: (group: number) => void}} page what the graph shows, and tells
   */
  constructor(canvas, page) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.page = page;
    this.transform = zoomIdentity;
    this.selected = -1;
    this.zoom = zoom().scaleExtent([0.02, 4]).clickDistance(4).on("zoom", (event) => {
      this.transform = event.transform;
      this.isFitted = false;
      this.redraw();
    });
    select(canvas).call(this.zoom).on("dblclick.zoom", null);
    canvas.addEventListener("click", (event) => this.#click(event));
    canvas.addEventListener("dblclick", (event) => this.#doubleClick(event));
    new ResizeObserver(() => this.#resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.#readColors();
      this.redraw();
    });
    this.#readColors();
  }

  /** Show a pane, with its first groups folded. */
  show(pane) {
    this.pane = pane;
    this.scene = new Scene(pane);
    this.open = new Set();
    this.selected = -1;
    this.#arrange();
    this.#resize();
    this.fit();
  }

  // -- folding ------------------------------------------------------------------------------------
  toggle(group) {
    if (this.open.has(group)) this.open.delete(group);
    else this.open.add(group);
    const before = this.drawing.boxes.get(`g${group}`);
    this.#arrange();
    const after = this.drawing.boxes.get(`g${group}`);
    if (before && after) {
      // The group's top stays where it was.
      const top = (box) => box.y - box.height / 2;
      const { x, y, k } = this.transform;
      this.#move(zoomIdentity.translate(x + k * (before.x - after.x), y + k * (top(before) - top(after))).scale(k));
    }
    this.redraw();
  }

  setAll(isOpen) {
    this.open = new Set(isOpen ? this.pane.groups.keys() : []);
    this.#arrange();
    this.fit();
  }

  /** Unfold what hides a node. */
  reveal(node) {
    for (const group of this.scene.around(node)) this.open.add(group);
    this.#arrange();
    this.redraw();
  }

  #arrange() {
    this.drawing = arranged(this.scene, this.open, (box) => this.#measure(box), (link) => this.#label(link));
    this.list = [...this.drawing.boxes.values()].sort((a, b) => a.depth - b.depth);
    this.boxesOf = new Map();
    for (const box of this.list) {
      if (box.node >= 0) this.boxesOf.set(box.node, [...(this.boxesOf.get(box.node) ?? []), box]);
    }
    const { nodes } = this.pane;
    this.canvas.setAttribute("aria-label",
      `Graph of ${nodes.length} nodes in ${this.list.length} boxes; the table beside it lists the nodes`);
    this.edges = this.drawing.edges.map((edge) => {
      const xs = edge.points.map(([x]) => x);
      const ys = edge.points.map(([, y]) => y);
      return { ...edge, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
    });
  }

  #measure(box) {
    const { context, pane } = this;
    if (box.group >= 0) {
      const group = pane.groups[box.group];
      context.font = `600 13px ${FONT}`;
      return { width: Math.min(260, Math.max(90, context.measureText(group.title).width + 44)), height: 46 };
    }
    const node = pane.nodes[box.node];
    const isChip = box.names !== null || node.is_number;
    context.font = `13px ${FONT}`;
    const line = isChip ? box.names ?? node.name : this.#line(node);
    const isLow = isChip || node.inside; // without numbers
    const wanted = Math.max(isLow ? 30 : NARROWEST, context.measureText(line).width + 22);
    // In steps of 16, so that blocks that repeat have one layout.
    return { width: Math.min(240, Math.ceil(wanted / 16) * 16), height: isLow ? 24 : 46 };
  }

  #line(node) {
    return node.kind === "op" ? `${node.name} = ${node.formula}` : node.name;
  }

  // -- the view -----------------------------------------------------------------------------------
  #resize() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    // The frame of a notebook has no size at first.
    if (this.isFitted) this.fit();
    this.redraw();
  }

  #move(transform) {
    select(this.canvas).call(this.zoom.transform, transform);
  }

  /** The whole graph in view; of a very long one, its end at a scale that can be read. */
  fit() {
    this.isFitted = true; // until it is moved
    if (!this.width || !this.height) return;
    const { width, height } = this.drawing;
    const room = this.height - 2 * MARGIN;
    const wide = (this.width - 2 * MARGIN) / width;
    const whole = Math.min(wide, room / height, 1.4);
    const k = whole >= LEGIBLE ? whole : Math.max(whole, Math.min(0.5, wide));
    const y = height * k <= room ? (this.height - height * k) / 2 : this.height - height * k - MARGIN;
    this.#move(zoomIdentity.translate((this.width - width * k) / 2, y).scale(k));
    this.isFitted = true;
  }

  scale(factor) {
    select(this.canvas).call(this.zoom.scaleBy, factor);
  }

  /** Move the view as little as brings a node, or the folded group that hides it, into it. */
  bring(node) {
    const id = this.scene.visible(node, this.open);
    const box = this.drawing.boxes.get(id) ?? this.boxesOf.get(node)?.[0];
    if (!box || !this.width) return;
    const { x, y, k } = this.transform;
    const margin = MARGIN - 2; // less than that of the whole graph, which never moves
    const needed = (center, size, offset, room) => {
      const low = (center - size / 2) * k + offset - margin;
      const high = (center + size / 2) * k + offset + margin;
      if (low >= 0 && high <= room) return 0;
      return room / 2 - (center * k + offset);
    };
    const dx = needed(box.x, box.width, x, this.width);
    const dy = needed(box.y, box.isOpen ? 0 : box.height, y, this.height);
    if (dx || dy) this.#move(zoomIdentity.translate(x + dx, y + dy).scale(k));
  }

  // -- the pointer --------------------------------------------------------------------------------
  boxAt(clientX, clientY) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = this.transform.invert([clientX - left, clientY - top]);
    return this.list.findLast((box) => Math.abs(x - box.x) <= box.width / 2 && Math.abs(y - box.y) <= box.height / 2);
  }

  #click(event) {
    const box = this.boxAt(event.clientX, event.clientY);
    if (!box) this.page.onSelect(-1);
    else if (box.node >= 0) this.page.onSelect(box.node);
    else if (!box.isOpen) this.page.onToggle(box.group);
    else {
      const { top } = this.canvas.getBoundingClientRect();
      const [, y] = this.transform.invert([0, event.clientY - top]);
      if (y - (box.y - box.height / 2) < 24) this.page.onToggle(box.group);
    }
  }

  #doubleClick(event) {
    const box = this.boxAt(event.clientX, event.clientY);
    if (!box) this.fit();
  }

  // -- drawing ------------------------------------------------------------------------------------
  #readColors() {
    const style = getComputedStyle(document.documentElement);
    const names = ["ink", "muted", "line", "value", "gradient", "input", "constant", "op", "group", "local", "paper",
      "inner", "now", "back", "selected"];
    this.colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.drawing || !this.width) return;
    const { context, transform, colors } = this;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.paper;
    context.fillRect(0, 0, this.width, this.height);
    context.translate(transform.x, transform.y);
    context.scale(transform.k, transform.k);
    const [left, top] = transform.invert([0, 0]);
    const [right, bottom] = transform.invert([this.width, this.height]);
    const isSeen = (box) => box.x + box.width / 2 >= left && box.x - box.width / 2 <= right
      && box.y + box.height / 2 >= top && box.y - box.height / 2 <= bottom;
    const seen = this.list.filter(isSeen);
    for (const box of seen) if (box.isOpen) this.#drawOpen(box);
    const shortest = FEWEST_PIXELS / transform.k;
    const edges = this.edges.filter((e) => e.bottom - e.top + e.right - e.left > shortest && e.right >= left && e.left <= right && e.bottom >= top && e.top <= bottom);
    this.#drawEdges(edges);
    const closed = seen.filter((box) => !box.isOpen);
    if (transform.k < LEGIBLE) this.#drawFar(closed);
    else for (const box of closed) this.#drawClosed(box);
    if (transform.k >= LEGIBLE) this.#drawLabels(edges);
  }

  /** A box cut a little outside of the view: the dashes of a long outline take longer than all else. */
  #clamped(box) {
    const [left, top] = this.transform.invert([-40, -40]);
    const [right, bottom] = this.transform.invert([this.width + 40, this.height + 40]);
    const [a, b] = [Math.max(box.x - box.width / 2, left), Math.min(box.x + box.width / 2, right)];
    const [c, d] = [Math.max(box.y - box.height / 2, top), Math.min(box.y + box.height / 2, bottom)];
    return { x: (a + b) / 2, y: (c + d) / 2, width: b - a, height: d - c };
  }

  #drawOpen(box) {
    const { context, colors, transform } = this;
    if (transform.k < FAR) return;
    boxPath(context, this.#clamped(box), 8);
    context.fillStyle = colors.inner;
    context.fill();
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
    if (this.transform.k < LEGIBLE / 2) return;
    context.font = `600 13px ${FONT}`;
    context.textAlign = "left";
    context.fillStyle = colors.muted;
    const title = `▾ ${this.pane.groups[box.group].title}`;
    context.fillText(fitted(context, title, box.width - 16), box.x - box.width / 2 + 8, box.y - box.height / 2 + 17);
  }

  #trace({ points }) {
    const { context } = this;
    const isFar = this.transform.k < FAR;
    let [x, y] = points[0];
    context.moveTo(x, y);
    for (let k = 1; k < points.length; k += 1) {
      const [a, b] = points[k];
      if (isFar || a === x || b === y) context.lineTo(a, b);
      else {
        const middle = (y + b) / 2;
        context.bezierCurveTo(x, middle, a, middle, a, b);
      }
      [x, y] = [a, b];
    }
  }

  #drawEdges(edges) {
    const { context, colors, selected } = this;
    context.lineWidth = Math.max(1.2, 0.7 / this.transform.k);
    context.strokeStyle = colors.line;
    context.beginPath();
    const runs = edges.filter((edge) => edge.arcs[0].parent < 0);
    for (const edge of edges) if (edge.arcs[0].parent >= 0) this.#trace(edge);
    context.stroke();
    if (runs.length) {
      context.setLineDash([3, 4]);
      context.beginPath();
      for (const edge of runs) this.#trace(edge);
      context.stroke();
      context.setLineDash([]);
    }
    if (this.transform.k > 0.25) {
      context.fillStyle = colors.line;
      context.beginPath();
      for (const edge of edges) {
        const [x, y] = edge.points.at(-1);
        context.moveTo(x, y);
        context.lineTo(x - 4, y - 7);
        context.lineTo(x + 4, y - 7);
        context.closePath();
      }
      context.fill();
    }
    if (selected < 0) return;
    context.strokeStyle = colors.selected;
    context.lineWidth = 2.4;
    context.beginPath();
    for (const edge of edges) {
      if (edge.arcs.some((arc) => arc.parent === selected || arc.child === selected)) this.#trace(edge);
    }
    context.stroke();
  }

  /** The text of an edge between single nodes, with its size. */
  #label({ arcs, to }) {
    if (arcs.length !== 1 || to.startsWith("g")) return null;
    const [{ child, place }] = arcs;
    const label = mapLabel(this.pane.nodes[child].maps.find((item) => item.operand === place));
    if (!label) return null;
    this.context.font = LABEL.font;
    const text = fitted(this.context, label, LABEL.most);
    return { text, size: [Math.ceil(this.context.measureText(text).width) + 6, LABEL.height] };
  }

  #drawLabels(edges) {
    const { context, colors } = this;
    context.font = LABEL.font;
    context.textAlign = "center";
    for (const { label, at, inside } of edges) {
      if (!label) continue;
      const [x, y] = at;
      const [width, height] = label.size;
      context.fillStyle = inside ? colors.inner : colors.paper;
      context.fillRect(x - width / 2, y - height / 2, width, height);
      context.fillStyle = colors.gradient;
      context.fillText(label.text, x, y + 4);
    }
  }

  /** Boxes without text, those of one color at once. */
  #drawFar(boxes) {
    const { context, colors } = this;
    const byColor = new Map();
    for (const box of boxes) {
      const state = box.node >= 0 ? this.page.mark(box.node) : this.page.groupText(box.group);
      const kind = box.node >= 0 ? this.pane.nodes[box.node].kind : "group";
      const color = box.node === this.selected && box.node >= 0 ? "selected" : state.isNow ? (state.isBack ? "back" : "now") : kind;
      const key = `${color} ${state.known ? 1 : 0.45}`;
      if (!byColor.has(key)) byColor.set(key, []);
      byColor.get(key).push(box);
    }
    for (const [key, some] of byColor) {
      const [color, alpha] = key.split(" ");
      context.globalAlpha = Number(alpha);
      context.fillStyle = colors[color];
      context.strokeStyle = colors.line;
      context.lineWidth = 1.2;
      context.beginPath();
      for (const { x, y, width, height } of some) context.rect(x - width / 2, y - height / 2, width, height);
      context.fill();
      if (this.transform.k >= FAR) context.stroke();
    }
    context.globalAlpha = 1;
  }

  #drawClosed(box) {
    const { context, colors } = this;
    const node = box.node >= 0 ? this.pane.nodes[box.node] : null;
    const state = node ? this.page.text(box.node) : this.page.groupText(box.group);
    boxPath(context, box, node?.kind === "input" ? box.height / 2 : 6);
    context.fillStyle = state.isNow ? (state.isBack ? colors.back : colors.now) : node ? colors[node.kind] : colors.group;
    context.globalAlpha = state.known ? 1 : 0.45;
    context.fill();
    const isSelected = node && box.node === this.selected;
    context.lineWidth = isSelected ? 3 : state.isNow ? 2.4 : 1.1;
    context.strokeStyle = isSelected ? colors.selected : colors.line;
    const isAgain = box.names && node.kind !== "constant";
    if (isAgain) context.setLineDash([4, 3]);
    context.stroke();
    if (isAgain) context.setLineDash([]);
    if (!node) {
      // A folded group looks like a pile of cards.
      context.beginPath();
      context.moveTo(box.x - box.width / 2 + 8, box.y + box.height / 2 + 3);
      context.lineTo(box.x + box.width / 2 - 4, box.y + box.height / 2 + 3);
      context.stroke();
    }
    const inverse = state.isNow ? "#14181d" : colors.ink;
    context.textAlign = "center";
    context.fillStyle = inverse;
    if (!node) {
      context.font = `600 13px ${FONT}`;
      context.fillText(fitted(context, `▸ ${this.pane.groups[box.group].title}`, box.width - 12), box.x, box.y - 3);
      context.font = `11px ${FONT}`;
      context.fillText(fitted(context, state.value, box.width - 12), box.x, box.y - 3 + LINE);
    } else if (box.height < TALL) {
      context.font = `13px ${FONT}`;
      const line = box.names ?? (node.inside ? this.#line(node) : node.name);
      context.fillText(fitted(context, line, box.width - 8), box.x, box.y + 4);
    } else {
      context.font = `13px ${FONT}`;
      context.fillText(fitted(context, this.#line(node), box.width - 14), box.x, box.y - 4);
      this.#drawNumbers(box, state, inverse);
    }
    context.globalAlpha = 1;
  }

  /** Below the formula: the value on the left, the gradient on the right. */
  #drawNumbers(box, state) {
    const { context, colors } = this;
    context.font = `600 11.5px ${FONT}`;
    const room = box.width - 16;
    const y = box.y + 13;
    const isOne = !state.gradient || !state.value;
    // Numbers are not cut if that can be helped: a long gradient takes the room that a short value leaves.
    const least = room / 2 - 3;
    const wanted = (text, array) => (array ? least : Math.min(context.measureText(text).width + 1, room - 6));
    const [left, right] = [wanted(state.value, state.array), wanted(state.gradient, state.gradientArray)];
    const valueWidth = isOne ? room : Math.max(Math.min(left, room - 6 - right), Math.min(left, least));
    const gradientWidth = isOne ? room : Math.min(right, room - 6 - valueWidth);
    const write = (text, array, color, align, x, width) => {
      if (array) {
        const from = align === "left" ? x : align === "right" ? x - width : x - width / 2;
        drawCells(context, array, from, y - 10, width, 13);
        return;
      }
      context.textAlign = align;
      context.fillStyle = color;
      context.fillText(fitted(context, text, width), x, y);
    };
    if (state.value) {
      write(state.value, state.array, state.isNow ? "#075226" : colors.value, isOne ? "center" : "left",
        isOne ? box.x : box.x - room / 2, valueWidth);
    }
    if (state.gradient) {
      write(state.gradient, state.gradientArray, state.isNow ? "#8d1210" : colors.gradient, isOne ? "center" : "right",
        isOne ? box.x : box.x + room / 2, gradientWidth);
    }
  }
}
