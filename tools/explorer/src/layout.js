// Where nodes and groups go. Each open group is laid out by itself, by dagre, and is one box in the group around it,
// so that unfolding one lays out a few dozen boxes anew, however large the program.

import dagre from "@dagrejs/dagre";

const PADDING = 14;
const HEAD = 24;
const MOST_LAYERED = 400; // boxes of one level for dagre's best ranking; more take a faster one
const SHARED = 6; // uses from which an input is repeated beside each, rather than drawn with a curtain of edges

/** The boxes of a pane before they have a place: which nodes and groups stand in which group. */
export class Scene {
  constructor(pane) {
    this.pane = pane;
    this.groups = pane.groups ?? [];
    this.users = pane.nodes.map(() => []);
    pane.nodes.forEach((node, i) => {
      for (const k of new Set(node.operands)) this.users[k].push(i);
    });
    const roots = new Set(pane.roots.map((root) => root.node));
    // A constant, or an input with many uses, is repeated at each use.
    this.repeated = pane.nodes.map((node, i) => !roots.has(i) && this.users[i].length > 0
      && (node.kind === "constant" || (node.operands.length === 0 && this.users[i].length > SHARED)));
  }

  /** The groups around a node, outermost first. */
  around(i) {
    const found = [];
    for (let g = this.pane.nodes[i].group ?? -1; g >= 0; g = this.groups[g].parent) found.unshift(g);
    return found;
  }

  /** The box that shows a node: itself, or the outermost folded group around it. */
  visible(i, open) {
    for (const g of this.around(i)) if (!open.has(g)) return `g${g}`;
    return `n${i}`;
  }
}

const layouts = new Map(); // by their sizes and links: the blocks of a repetition share one
const MOST_LAYOUTS = 5000;

/** The layout of one level: centers of boxes, bends of links, and the size of the whole. */
function levelLayout(sizes, links) {
  const key = JSON.stringify([sizes, links]);
  if (!layouts.has(key)) {
    if (layouts.size > MOST_LAYOUTS) layouts.clear();
    layouts.set(key, newLayout(sizes, links));
  }
  return layouts.get(key);
}

function newLayout(sizes, links) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({
    rankdir: "TB", nodesep: 18, ranksep: 42, edgesep: 8, marginx: PADDING, marginy: PADDING,
    ranker: sizes.length > MOST_LAYERED ? "longest-path" : "network-simplex",
  });
  sizes.forEach(([width, height], k) => graph.setNode(String(k), { width, height }));
  for (const [from, to] of links) graph.setEdge(String(from), String(to), {});
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width,
    height,
    centers: sizes.map((_, k) => [graph.node(String(k)).x, graph.node(String(k)).y]),
    bends: links.map(([from, to]) => graph.edge(String(from), String(to)).points.slice(1, -1).map((p) => [p.x, p.y])),
  };
}

/** The boxes that are seen with some groups open, the links between them, and both by the group around them. */
function levelsOf(scene, open) {
  const { pane } = scene;
  const boxes = new Map();
  const links = new Map();
  const levels = new Map();
  const level = (id) => {
    if (!levels.has(id)) levels.set(id, { boxes: new Set(), links: new Map() });
    return levels.get(id);
  };
  /** The groups around a node and the box that shows it, outermost first. */
  const chain = (i) => {
    const around = scene.around(i).map((g) => [g, `g${g}`]);
    const folded = around.findIndex(([g]) => !open.has(g));
    return folded < 0 ? [...around.map(([, id]) => id), `n${i}`] : around.slice(0, folded + 1).map(([, id]) => id);
  };
  const enter = (path) => path.forEach((id, depth) => {
    level(depth ? path[depth - 1] : "").boxes.add(id);
    if (!boxes.has(id)) boxes.set(id, { id, depth });
  });
  const connect = (from, to, arc) => {
    let depth = 0;
    while (from[depth] === to[depth] && depth < from.length) depth += 1;
    if (depth >= from.length || depth >= to.length) return; // within one folded group
    const inside = depth ? to[depth - 1] : "";
    const trunk = `${from[depth]}>${to[depth]}`;
    level(inside).links.set(trunk, { from: from[depth], to: to[depth], bends: [] });
    const key = `${from.at(-1)}>${to.at(-1)}`;
    if (!links.has(key)) links.set(key, { from: from.at(-1), to: to.at(-1), inside, trunk, arcs: [] });
    links.get(key).arcs.push(arc);
  };
  // The first box of an input that is repeated shows its numbers, the others its name.
  const firsts = new Map();
  const beside = (parent, to) => {
    if (!firsts.has(parent)) firsts.set(parent, to.at(-1));
    const mark = firsts.get(parent) === to.at(-1) ? "" : `@${to.at(-1)}`;
    return [...to.slice(0, -1), `n${parent}${mark}`];
  };
  const chains = pane.nodes.map((_, i) => chain(i));
  chains.forEach((path, i) => {
    if (!scene.repeated[i]) enter(path);
  });
  pane.nodes.forEach((node, child) => {
    if (scene.repeated[child]) return; // the constant that a constant is made of
    const to = chains[child];
    node.operands.forEach((parent, place) => {
      // A folded group is drawn with its repeated inputs only if it is among the outermost.
      const isFolded = to.at(-1).startsWith("g");
      if (scene.repeated[parent] && isFolded && (to.length > 1 || pane.nodes[parent].kind === "constant")) return;
      const from = scene.repeated[parent] ? beside(parent, to) : chains[parent];
      if (scene.repeated[parent]) enter(from);
      connect(from, to, { parent, child, place });
    });
    // A body hangs above the nodes that run it.
    for (const group of node.runs ?? []) {
      enter([`g${group}`]);
      connect([`g${group}`], to, { parent: -1, child, place: -1 });
    }
  });
  return { boxes, links, levels };
}

/**
 * The drawing of a scene with some groups open: boxes with centers and sizes, and edges as lists of points.
 * `measure(box)` gives the size of a closed box.
 */
export function arranged(scene, open, measure) {
  const { boxes, links, levels } = levelsOf(scene, open);
  const whole = { id: "", depth: -1, isOpen: true };
  boxes.set("", whole);
  // The innermost levels first: an open group's size is that of its level.
  const order = [...levels.keys()].sort((a, b) => boxes.get(b).depth - boxes.get(a).depth);
  for (const id of order) {
    const inner = [...levels.get(id).boxes].map((name) => boxes.get(name));
    for (const box of inner) if (!box.width) Object.assign(box, measure(box));
    const place = new Map(inner.map((box, k) => [box.id, k]));
    const pairs = [...levels.get(id).links.values()];
    const layout = levelLayout(
      inner.map(({ width, height }) => [width, height]), pairs.map(({ from, to }) => [place.get(from), place.get(to)]),
    );
    const head = id ? HEAD : 0;
    inner.forEach((box, k) => Object.assign(box, { x: layout.centers[k][0], y: layout.centers[k][1] + head }));
    pairs.forEach((pair, k) => Object.assign(pair, { bends: layout.bends[k].map(([x, y]) => [x, y + head]) }));
    Object.assign(boxes.get(id), { width: Math.max(layout.width, 120), height: layout.height + head, isOpen: true });
  }
  // Then the outermost first: centers and points relative to a group become absolute.
  for (const id of order.reverse().filter(Boolean)) {
    const { x, y, width, height } = boxes.get(id);
    const [dx, dy] = [x - width / 2, y - height / 2];
    for (const name of levels.get(id).boxes) {
      const box = boxes.get(name);
      Object.assign(box, { x: box.x + dx, y: box.y + dy });
    }
    for (const pair of levels.get(id).links.values()) pair.bends = pair.bends.map(([a, b]) => [a + dx, b + dy]);
  }
  boxes.delete("");
  const edges = [...links.values()].map((link) => {
    const [from, to] = [boxes.get(link.from), boxes.get(link.to)];
    const { bends } = levels.get(link.inside).links.get(link.trunk);
    return { ...link, points: [[from.x, from.y + from.height / 2], ...bends, [to.x, to.y - to.height / 2]] };
  });
  return { boxes, edges, width: whole.width, height: whole.height };
}
