// Where the boxes of a drawing go: in layers, operands above users, with few crossings and straight edges. The same
// as layered_layout.py, which a test holds it to: pictures and the page have one look.

import { horizontalPlaces } from "./placement.js";
import { orderedLayers } from "./order.js";

export const MARGIN = 14;
const GAP_X = 18;
const GAP_Y = 34;
const TEXT_GAP = 16; // between a node and the text of an edge
const BEND = 4; // the width kept free for an edge that passes a layer
const STEEPEST = 0.07; // of the horizontal way of an edge that is added to the gap that it crosses
const CLOSEST = 1e-3; // points of an edge are at least this far apart
const PORT = 14; // between the tips of edges at a node, at most

/**
 * The center of each node, the points of each edge (operand first), the center of its text, and the size of all.
 * Nodes come in topological order; edges, and `texts`, the sizes of their texts or null, in that of `parents`.
 */
export function layered(parents, sizes, texts) {
  const edges = parents.flatMap((of, i) => of.map((p) => [p, i]));
  const hasTexts = texts.some(Boolean);
  const points = pointsOf(edges, levelsOf(parents, hasTexts ? 2 : 1), sizes, texts);
  const layers = orderedLayers(points.layers, points.up, points.down);
  const widths = points.sizes.map(([width]) => width);
  let xs = horizontalPlaces(layers, points.up, points.down, widths, points.bends, GAP_X);
  let left = Infinity;
  xs.forEach((x, p) => { left = Math.min(left, x - widths[p] / 2); });
  xs = xs.map((x) => x - left + MARGIN);
  const bands = bandsOf(layers, points, xs, hasTexts ? TEXT_GAP : GAP_Y);
  const places = points.levels.map((level, p) => [xs[p], (bands[level][0] + bands[level][1]) / 2]);
  let right = 0;
  xs.forEach((x, p) => { right = Math.max(right, x + widths[p] / 2); });
  return {
    centers: places.slice(0, parents.length),
    routes: routesOf(points, places, bands),
    texts: points.texts.map((p) => (p === null ? null : places[p])),
    width: right + MARGIN,
    height: bands.at(-1)[1] + MARGIN,
  };
}

/** The layer of each node: below all operands, and not further from its users than it must be. */
function levelsOf(parents, step) {
  const levels = [];
  const users = parents.map(() => []);
  const free = []; // what operands, all of their own, can follow
  parents.forEach((of, i) => {
    levels.push(of.reduce((most, p) => Math.max(most, levels[p] + step), 0));
    for (const p of of) users[p].push(i);
  });
  for (const of of parents) free.push(of.every((p) => free[p] && new Set(users[p]).size === 1));
  for (let i = parents.length - 1; i >= 0; i -= 1) {
    // With fewer operands than users, a step down shortens more edges than it lengthens.
    if (users[i].length && (free[i] || new Set(parents[i]).size < new Set(users[i]).size)) {
      levels[i] = users[i].reduce((least, user) => Math.min(least, levels[user]), Infinity) - step;
    }
  }
  const lowest = levels.reduce((least, level) => Math.min(least, level), Infinity);
  return levels.map((level) => level - lowest);
}

/** Nodes, then the points of long edges: sizes, layers, neighbors, and the chain of each edge. */
function pointsOf(edges, levels, sizes, texts) {
  const points = { sizes: [...sizes], levels: [...levels], chains: [], texts: [] };
  edges.forEach(([p, i], edge) => {
    const chain = [p];
    for (let level = levels[p] + 1; level < levels[i]; level += 1) {
      chain.push(points.sizes.length);
      points.levels.push(level);
      points.sizes.push([BEND, 0]);
    }
    chain.push(i);
    points.chains.push(chain);
    points.texts.push(texts[edge] ? points.sizes.length - 1 : null);
    if (texts[edge]) points.sizes[points.sizes.length - 1] = texts[edge];
  });
  points.up = points.sizes.map(() => []);
  points.down = points.sizes.map(() => []);
  for (const chain of points.chains) {
    for (let k = 1; k < chain.length; k += 1) {
      points.down[chain[k - 1]].push(chain[k]);
      points.up[chain[k]].push(chain[k - 1]);
    }
  }
  points.layers = Array.from({ length: points.levels.reduce((most, level) => Math.max(most, level), 0) + 1 }, () => []);
  for (const p of firstOrder(sizes.length, points.up)) points.layers[points.levels[p]].push(p);
  points.bends = points.sizes.map((_, p) => p >= sizes.length);
  return points;
}

/** All points, each after its operands in their order, from the last node: a depth-first post-order. */
function firstOrder(nodes, up) {
  const order = [];
  const seen = new Uint8Array(up.length);
  for (let root = nodes - 1; root >= 0; root -= 1) {
    const waiting = [[root, 0]];
    while (waiting.length) {
      const top = waiting.at(-1);
      const [p, next] = top;
      if (next === 0 && seen[p]) waiting.pop();
      else if (next < up[p].length) {
        seen[p] = 1;
        top[1] += 1;
        if (!seen[up[p][next]]) waiting.push([up[p][next], 0]);
      } else {
        seen[p] = 1;
        order.push(p);
        waiting.pop();
      }
    }
  }
  return order;
}

/** The top and the bottom of each layer; the gap is larger where edges go far to the side. */
function bandsOf(layers, points, xs, gap) {
  const bands = [];
  let top = MARGIN;
  for (const layer of layers) {
    const bottom = top + layer.reduce((most, p) => Math.max(most, points.sizes[p][1]), 0);
    bands.push([top, bottom]);
    let far = 0;
    for (const p of layer) for (const q of points.down[p]) far = Math.max(far, Math.abs(xs[p] - xs[q]));
    top = bottom + gap + Math.min(STEEPEST * far, 2 * GAP_Y);
  }
  return bands;
}

/** The points of each edge: straight through the layers that it passes, and side by side at its ends. */
function routesOf(points, places, bands) {
  const tips = portsOf(points, places);
  return points.chains.map((chain, edge) => {
    const [first, last] = [chain[0], chain.at(-1)];
    const bottom = places[first][1] + points.sizes[first][1] / 2;
    const route = [[places[first][0], bottom], [places[first][0], bands[points.levels[first]][1]]];
    for (const p of chain.slice(1, -1)) {
      const [top, below] = bands[points.levels[p]];
      route.push([places[p][0], top], [places[p][0], below]);
    }
    const top = places[last][1] - points.sizes[last][1] / 2;
    route.push([tips[edge], bands[points.levels[last]][0]], [tips[edge], top]);
    const kept = [route[0]];
    for (const point of route.slice(1, -1)) {
      if (kept.at(-1)[1] + CLOSEST < point[1] && point[1] < top - CLOSEST) kept.push(point);
    }
    return [...kept, route.at(-1)];
  });
}

/** The x of the tip of each edge: on top of its node, in the order of arrival. */
function portsOf(points, places) {
  const arriving = new Map();
  points.chains.forEach((chain, edge) => {
    const node = chain.at(-1);
    if (!arriving.has(node)) arriving.set(node, []);
    arriving.get(node).push([places[chain.at(-2)][0], edge]);
  });
  const tips = [];
  for (const [node, found] of arriving) {
    const room = Math.min(PORT, (points.sizes[node][0] - 12) / found.length);
    found.sort(([x, a], [y, b]) => x - y || a - b);
    found.forEach(([, edge], k) => { tips[edge] = places[node][0] + (k - (found.length - 1) / 2) * room; });
  }
  return tips;
}
