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
const TOOLS = 44; // the height of the buttons over the graph
const TIP_ROOM = 20; // above the end of an edge, free of labels
const MOST_WITH_MAPS = 80; // boxes of a drawing whose edges are labeled

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
    this.drawing = arranged(this.scene, this.open, (box) => this.#measure(box));
    this.list = [...this.drawing.boxes.values()].sort((a, b) => a.depth - b.depth);
    this.boxesOf = new Map();
    for (const box of this.list) {
      const node = box.id.startsWith("n") ? Number.parseInt(box.id.slice(1), 10) : -1;
      box.node = node;
      box.group = node < 0 ? Number(box.id.slice(1)) : -1;
      if (node >= 0) this.boxesOf.set(node, [...(this.boxesOf.get(node) ?? []), box]);
    }
    const { nodes } = this.pane;
    this.canvas.setAttribute("aria-label",
      `Graph of ${nodes.length} nodes in ${this.list.length} boxes; the table beside it lists the nodes`);
    this.hasMaps = this.list.length <= MOST_WITH_MAPS;
    this.edges = this.drawing.edges.map((edge) => {
      const xs = edge.points.map(([x]) => x);
      const ys = edge.points.map(([, y]) => y);
      return { ...edge, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
    });
  }

  #measure(box) {
    const { context, pane } = this;
    if (box.id.startsWith("g")) {
      const group = pane.groups[Number(box.id.slice(1))];
      context.font = `600 13px ${FONT}`;
      return { width: Math.min(260, Math.max(90, context.measureText(group.title).width + 44)), height: 46 };
    }
    const node = pane.nodes[Number.parseInt(box.id.slice(1), 10)];
    const isChip = box.id.includes("@") || node.is_number;
    context.font = `13px ${FONT}`;
    const line = isChip ? node.name : this.#line(node);
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
    this.redraw();
  }

  #move(transform) {
    select(this.canvas).call(this.zoom.transform, transform);
  }

  /** The whole graph in view; of a very long one, its end at a scale that can be read. */
  fit() {
    const { width, height } = this.drawing;
    const room = this.height - TOOLS - 12;
    const whole = Math.min((this.width - 24) / width, room / height, 1.4);
    const k = Math.max(whole, Math.min(0.5, (this.width - 24) / width));
    const y = height * k <= room ? TOOLS + (room - height * k) / 2 : this.height - height * k - 12;
    this.#move(zoomIdentity.translate((this.width - width * k) / 2, y).scale(k));
  }

  scale(factor) {
    select(this.canvas).call(this.zoom.scaleBy, factor);
  }

  /** Move the view as little as brings a node, or the folded group that hides it, into it. */
  bring(node) {
    const id = this.scene.visible(node, this.open);
    const box = this.drawing.boxes.get(id) ?? this.boxesOf.get(node)?.[0];
    if (!box) return;
    const { x, y, k } = this.transform;
    const margin = 30;
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
    if (this.hasMaps && transform.k >= LEGIBLE) this.#drawMaps(edges);
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

  #trace(edge) {
    const { context } = this;
    const { points } = edge;
    context.moveTo(...points[0]);
    if (points.length === 2 && this.transform.k >= FAR) {
      const [[x, y], [a, b]] = points;
      const middle = (y + b) / 2;
      context.bezierCurveTo(x, middle, a, middle, a, b);
      return;
    }
    if (this.transform.k < FAR || points.length === 2) {
      for (const point of points.slice(1)) context.lineTo(...point);
      return;
    }
    // Through the middles of the segments, with the points between them as controls.
    for (let i = 1; i < points.length - 1; i += 1) {
      const [x, y] = points[i];
      const [a, b] = points[i + 1];
      const isLast = i === points.length - 2;
      context.quadraticCurveTo(x, y, isLast ? a : (x + a) / 2, isLast ? b : (y + b) / 2);
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

  #drawMaps(edges) {
    const { context, colors } = this;
    context.font = `11px ${FONT}`;
    context.textAlign = "center";
    const taken = [];
    for (const edge of edges) {
      if (edge.arcs.length !== 1 || edge.to.startsWith("g")) continue;
      const [{ child, place }] = edge.arcs;
      const map = this.pane.nodes[child].maps.find((item) => item.operand === place);
      const label = mapLabel(map);
      if (!label) continue;
      const text = fitted(context, label, 110);
      // Beside the tip, not on it.
      const [x, y] = edge.points.at(-1);
      const [a, b] = edge.points.at(-2);
      const share = Math.max(0.5, Math.min(1, TIP_ROOM / Math.max(1, y - b)));
      const area = { x: x + (a - x) * share, y: y + (b - y) * share, width: context.measureText(text).width + 4, height: 14 };
      const overlaps = (box) => Math.abs(box.x - area.x) < (box.width + area.width) / 2
        && Math.abs(box.y - area.y) < (box.height + area.height) / 2;
      if (taken.some(overlaps) || this.list.some((box) => !box.isOpen && overlaps(box))) continue;
      taken.push(area);
      context.fillStyle = colors.paper;
      context.globalAlpha = 0.85;
      context.fillRect(area.x - area.width / 2, area.y - 8, area.width, 14);
      context.globalAlpha = 1;
      context.fillStyle = colors.gradient;
      context.fillText(text, area.x, area.y + 3);
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
    context.stroke();
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
      const line = node.inside && !box.id.includes("@") ? this.#line(node) : node.name;
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
