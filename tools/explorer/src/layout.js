// Where nodes and groups go. Each open group is laid out by itself and is one box in the group around it, so that
// unfolding one lays out a few dozen boxes anew, however large the program.

import { inColumns } from "./columns.js";
import { layered } from "./layered.js";

const HEAD = 24;
const SHARED = 6; // uses above which a name stands beside each user, rather than a curtain of edges over the drawing
const DIRECT = 3; // of these uses, those that have edges
const MOST_NAMES = 3; // boxes with names beside a folded group
const MOST_LABELED = 80; // boxes of a drawing whose edges have texts

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

/** The layout of one level: centers of boxes, points of links, centers of their texts, and the size of the whole. */
function levelLayout(sizes, links, texts) {
  const key = JSON.stringify([sizes, links, texts]);
  if (!layouts.has(key)) {
    if (layouts.size > MOST_LAYOUTS) layouts.clear();
    layouts.set(key, newLayout(sizes, links, texts));
  }
  return layouts.get(key);
}

function newLayout(sizes, links, texts) {
  // Boxes in topological order, links in that of their users.
  const order = topological(sizes.length, links);
  const rank = [];
  order.forEach((k, at) => { rank[k] = at; });
  const parents = order.map(() => []);
  const linksOf = order.map(() => []);
  links.forEach(([from, to], k) => {
    parents[rank[to]].push(rank[from]);
    linksOf[rank[to]].push(k);
  });
  const given = linksOf.flat();
  const sorted = order.map((k) => sizes[k]);
  const written = given.map((k) => texts[k]);
  const plan = inColumns(layered(parents, sorted, written), sorted, written);
  const routes = [];
  const places = [];
  given.forEach((k, edge) => {
    routes[k] = plan.routes[edge];
    places[k] = plan.texts[edge];
  });
  return { width: plan.width, height: plan.height, centers: sizes.map((_, k) => plan.centers[rank[k]]), routes, texts: places };
}

/** The boxes in an order in which each comes after those that have links to it. */
function topological(count, links) {
  const users = Array.from({ length: count }, () => []);
  const waits = new Uint32Array(count);
  for (const [from, to] of links) {
    users[from].push(to);
    waits[to] += 1;
  }
  const order = [];
  waits.forEach((wait, k) => { if (!wait) order.push(k); });
  for (const k of order) { // grows while it is read
    for (const user of users[k]) {
      waits[user] -= 1;
      if (!waits[user]) order.push(user);
    }
  }
  return order;
}

/**
 * The boxes that are seen with some groups open, by the group around them, and the links of each level. A link stays
 * within its level: what an open group uses from outside has a line to the group, and inside its name beside its user.
 */
function levelsOf(scene, open) {
  const { pane } = scene;
  const boxes = new Map();
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
  const put = (inside, id, depth, about) => {
    level(inside).boxes.add(id);
    if (!boxes.has(id)) boxes.set(id, { id, depth, node: -1, group: -1, names: null, ...about });
  };
  const enter = (path, node) => path.forEach((id, depth) => put(depth ? path[depth - 1] : "", id, depth,
    id.startsWith("g") ? { group: Number(id.slice(1)) } : { node }));
  const link = (inside, from, to, arcs) => {
    const { links } = level(inside);
    const key = `${from}>${to}`;
    if (!links.has(key)) links.set(key, { from, to, inside, arcs: [] });
    links.get(key).arcs.push(...arcs);
  };
  const waiting = new Map(); // by user, the values that are named beside it
  const beside = (from, inside, to, arcs) => {
    if (!waiting.has(to)) waiting.set(to, { inside, to, found: new Map() });
    const { found } = waiting.get(to);
    if (!found.has(from)) found.set(from, []);
    found.get(from).push(...arcs);
  };
  const name = (id, inside, to, arcs) => {
    const parents = [...new Set(arcs.map(({ parent }) => parent))].sort((a, b) => a - b);
    const names = parents.map((parent) => pane.nodes[parent].name);
    const text = names.length > 2 ? `${names[0]}, … ${names.at(-1)}` : names.join(", ");
    put(inside, id, boxes.get(to).depth, { node: parents[0], names: text });
    link(inside, id, to, arcs);
  };
  const chains = pane.nodes.map((_, i) => chain(i));
  chains.forEach((path, i) => {
    if (!scene.repeated[i]) enter(path, i);
  });
  const firsts = new Set(); // inputs that are repeated, whose first box shows their numbers
  pane.nodes.forEach((node, child) => {
    if (scene.repeated[child]) return; // the constant that a constant is made of
    const to = chains[child];
    const own = to.at(-1);
    const home = to.at(-2) ?? "";
    node.operands.forEach((parent, place) => {
      const arc = { parent, child, place };
      if (scene.repeated[parent]) {
        // A folded group is drawn with its repeated inputs only if it is among the outermost.
        if (own.startsWith("g") && (to.length > 1 || pane.nodes[parent].kind === "constant")) return;
        if (firsts.has(parent)) beside(`n${parent}`, home, own, [arc]);
        else {
          firsts.add(parent);
          put(home, `n${parent}`, to.length - 1, { node: parent });
          link(home, `n${parent}`, own, [arc]);
        }
        return;
      }
      const from = chains[parent];
      let depth = 0;
      while (from[depth] === to[depth] && depth < from.length) depth += 1;
      if (depth >= from.length || depth >= to.length) return; // within one folded group
      link(depth ? to[depth - 1] : "", from[depth], to[depth], [arc]);
      if (to.length === depth + 1) return;
      beside(own.startsWith("g") ? from[depth] : `n${parent}`, home, own, [arc]);
    });
    // A body hangs above the nodes that run it.
    for (const group of node.runs ?? []) {
      enter([`g${group}`], -1);
      link("", `g${group}`, to[0], [{ parent: -1, child, place: -1 }]);
    }
  });
  for (const [id, { links }] of levels) {
    const uses = new Map();
    for (const { from, arcs } of links.values()) if (arcs[0].parent >= 0) uses.set(from, (uses.get(from) ?? 0) + 1);
    const drawn = new Map();
    for (const [key, { from, to, arcs }] of [...links]) {
      if (!(uses.get(from) > SHARED)) continue;
      drawn.set(from, (drawn.get(from) ?? 0) + 1);
      if (drawn.get(from) <= DIRECT) continue;
      links.delete(key);
      // An open group has the names inside.
      if (!(to.startsWith("g") && open.has(Number(to.slice(1))))) beside(from, id, to, arcs);
    }
  }
  for (const { inside, to, found } of waiting.values()) {
    if (to.startsWith("g") && found.size > MOST_NAMES) name(`@${to}`, inside, to, [...found.values()].flat());
    else for (const [from, arcs] of found) name(`${from}@${to}`, inside, to, arcs);
  }
  return { boxes, levels };
}

/**
 * The drawing of a scene with some groups open: boxes with centers and sizes, and edges as lists of points.
 * `measure(box)` gives the size of a closed box, and `label(link)` the text of an edge with its size, or null.
 */
export function arranged(scene, open, measure, label) {
  const { boxes, levels } = levelsOf(scene, open);
  const whole = { id: "", depth: -1 };
  const isLabeled = boxes.size <= MOST_LABELED;
  boxes.set("", whole);
  // The innermost levels first: an open group's size is that of its level.
  const order = [...levels.keys()].sort((a, b) => boxes.get(b).depth - boxes.get(a).depth);
  for (const id of order) {
    const inner = [...levels.get(id).boxes].map((name) => boxes.get(name));
    for (const box of inner) if (!box.width) Object.assign(box, measure(box));
    const place = new Map(inner.map((box, k) => [box.id, k]));
    const pairs = [...levels.get(id).links.values()];
    if (isLabeled) for (const pair of pairs) pair.label = label(pair);
    const layout = levelLayout(
      inner.map(({ width, height }) => [width, height]), pairs.map(({ from, to }) => [place.get(from), place.get(to)]),
      pairs.map((pair) => pair.label?.size ?? null),
    );
    const head = id ? HEAD : 0;
    const lowered = ([x, y]) => [x, y + head];
    inner.forEach((box, k) => Object.assign(box, { x: layout.centers[k][0], y: layout.centers[k][1] + head }));
    pairs.forEach((pair, k) => {
      pair.points = layout.routes[k].map(lowered);
      pair.at = layout.texts[k] && lowered(layout.texts[k]);
    });
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
    const moved = ([a, b]) => [a + dx, b + dy];
    for (const pair of levels.get(id).links.values()) {
      pair.points = pair.points.map(moved);
      pair.at &&= moved(pair.at);
    }
  }
  boxes.delete("");
  const edges = [...levels.values()].flatMap(({ links }) => [...links.values()]);
  return { boxes, edges, width: whole.width, height: whole.height };
}
