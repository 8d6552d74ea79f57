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
    this.repeated = pane.nodes.map((node, i) => node.operands.length === 0 && !roots.has(i) && this.users[i].length > 0
      && (node.kind === "constant" || this.users[i].length > SHARED));
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

/**
 * The drawing of a scene with some groups open: boxes with centers and sizes, and edges as lists of points.
 * `measure(box)` gives the size of a closed box.
 */
export function arranged(scene, open, measure) {
  const { pane, groups } = scene;
  const boxes = new Map();
  const links = new Map();
  const levels = new Map();
  const level = (id) => {
    if (!levels.has(id)) levels.set(id, { boxes: new Set(), links: new Map() });
    return levels.get(id);
  };

  const chain = (i) => {
    const path = [];
    for (const g of scene.around(i)) {
      path.push(`g${g}`);
      if (!open.has(g)) return path;
    }
    path.push(`n${i}`);
    return path;
  };
  const enter = (path) => path.forEach((id, depth) => {
    const inside = depth ? path[depth - 1] : "";
    level(inside).boxes.add(id);
    if (!boxes.has(id)) boxes.set(id, { id, inside, depth });
  });

  pane.nodes.forEach((node, i) => {
    if (!scene.repeated[i]) enter(chain(i));
  });
  pane.nodes.forEach((node, child) => {
    const to = chain(child);
    node.operands.forEach((parent, place) => {
      let from = chain(parent);
      if (scene.repeated[parent]) {
        const at = to.at(-1);
        if (at.startsWith("g") && pane.nodes[parent].kind === "constant") return;
        from = [...to.slice(0, -1), `n${parent}@${at}`];
        enter(from);
      }
      let depth = 0;
      while (from[depth] === to[depth] && depth < from.length) depth += 1;
      if (depth >= from.length || depth >= to.length) return; // within one folded group
      const inside = depth ? to[depth - 1] : "";
      const key = `${from.at(-1)}>${to.at(-1)}`;
      const trunk = level(inside).links;
      trunk.set(`${from[depth]}>${to[depth]}`, [from[depth], to[depth]]);
      const link = links.get(key) ?? { from: from.at(-1), to: to.at(-1), trunk: [inside, from[depth], to[depth]], arcs: [] };
      link.arcs.push({ parent, child, place });
      links.set(key, link);
    });
  });

  // The innermost levels first: an open group's size is that of its level.
  const order = [...levels.keys()].sort((a, b) => (boxes.get(b)?.depth ?? -1) - (boxes.get(a)?.depth ?? -1));
  for (const id of order) {
    const { boxes: inner, links: arcs } = levels.get(id);
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({
      rankdir: "TB", nodesep: 18, ranksep: 34, edgesep: 8, marginx: PADDING, marginy: PADDING,
      ranker: inner.size > MOST_LAYERED ? "longest-path" : "network-simplex",
    });
    for (const name of inner) {
      const box = boxes.get(name);
      if (!box.width) Object.assign(box, measure(box));
      graph.setNode(name, { width: box.width, height: box.height });
    }
    for (const [from, to] of arcs.values()) graph.setEdge(from, to, {});
    dagre.layout(graph);
    const { width, height } = graph.graph();
    const head = id ? HEAD : 0;
    for (const name of inner) {
      const { x, y } = graph.node(name);
      Object.assign(boxes.get(name), { x, y: y + head });
    }
    for (const arc of arcs.values()) {
      const { points } = graph.edge(arc[0], arc[1]);
      arc.points = points.slice(1, -1).map((p) => [p.x, p.y + head]);
    }
    if (id) Object.assign(boxes.get(id), { width: Math.max(width, 120), height: height + head, isOpen: true });
    else boxes.set("", { id: "", x: width / 2, y: height / 2, width, height, depth: -1, isOpen: true });
  }

  // Then the outermost first: centers and points relative to a group become absolute.
  const corner = (id) => {
    const box = boxes.get(id);
    return id ? [box.x - box.width / 2, box.y - box.height / 2] : [0, 0];
  };
  for (const id of order.reverse()) {
    const [dx, dy] = corner(id);
    if (!id) continue;
    for (const name of levels.get(id).boxes) {
      boxes.get(name).x += dx;
      boxes.get(name).y += dy;
    }
    for (const arc of levels.get(id).links.values()) arc.points = arc.points.map(([x, y]) => [x + dx, y + dy]);
  }
  const edges = [...links.values()].map((link) => {
    const from = boxes.get(link.from);
    const to = boxes.get(link.to);
    const [inside, a, b] = link.trunk;
    const trunk = levels.get(inside).links.get(`${a}>${b}`);
    const points = [[from.x, from.y + from.height / 2], ...trunk.points, [to.x, to.y - to.height / 2]];
    return { ...link, points };
  });
  const all = boxes.get("");
  boxes.delete("");
  return { boxes, edges, width: all.width, height: all.height };
}
