// A tall drawing in columns that are read one after the other, as in column_layout.py.

import { MARGIN } from "./layered.js";

const TALLEST = 1400; // pixels of a drawing in one column
const SLIMMEST = 2; // times its width that a drawing in one column may be high if it is that tall
const SHAPE = 1.2; // the height of a drawing in columns to its width, about
const REACH = 0.25; // of a column's height by which it may be shorter or longer for a better cut
const MOST_PASSING = 6; // edges of different nodes that pass a cut
const LANE = 7; // between edges side by side in a gutter

/** The layout in as many columns as give it the shape of a page; itself if it is not tall. */
export function inColumns(plan, sizes, texts) {
  if (plan.height <= Math.max(TALLEST, SLIMMEST * plan.width)) return plan;
  const boxes = plan.centers.map((at, k) => [at, sizes[k]]);
  plan.texts.forEach((at, k) => { if (at) boxes.push([at, texts[k]]); });
  const cuts = cutsOf(plan, boxes);
  if (!cuts.length) return plan;
  const column = (y) => cuts.findLastIndex((cut) => cut <= y) + 1;
  const gutters = cuts.map((cut) => lanesOf(plan, cut));
  const sides = LANE * Math.max(...gutters.map((lanes) => lanes.length)); // for edges above and below columns
  const head = MARGIN + sides;
  const shifts = [];
  const rights = [];
  let right = 0;
  extentsOf(plan, boxes, column, cuts.length + 1).forEach(([low, high], k) => {
    const left = right + MARGIN + (k ? LANE * gutters[k - 1].length : 0);
    right = left + high - low + MARGIN;
    shifts.push([left - low, head - (k ? cuts[k - 1] : MARGIN)]);
    rights.push(right);
  });
  const bottoms = cuts.map((cut, k) => cut + shifts[k][1]);
  const moved = ([x, y]) => {
    const [dx, dy] = shifts[column(y)];
    return [x + dx, y + dy];
  };
  const rerouted = (route) => {
    const points = [moved(route[0])];
    for (let i = 1; i < route.length; i += 1) {
      const [before, point] = [route[i - 1], route[i]];
      for (let k = column(before[1]); k < column(point[1]); k += 1) {
        const lane = gutters[k].indexOf(startOf(route));
        const out = bottoms[k] + LANE * (lane + 1);
        const into = head - LANE * (gutters[k].length - lane);
        const gutter = rights[k] + LANE * lane;
        points.push([before[0] + shifts[k][0], out], [gutter, out], [gutter, into], [point[0] + shifts[k + 1][0], into]);
      }
      points.push(moved(point));
    }
    return points;
  };
  return {
    centers: plan.centers.map(moved),
    routes: plan.routes.map(rerouted),
    texts: plan.texts.map((at) => at && moved(at)),
    width: rights.at(-1),
    height: Math.max(...bottoms, plan.height - MARGIN + shifts.at(-1)[1]) + sides + MARGIN,
  };
}

const startOf = (route) => route[0].join(" ");

/** Heights between layers that cut a drawing into columns of about equal height, where few edges pass. */
function cutsOf(plan, boxes) {
  const columns = Math.ceil(Math.sqrt(plan.height / (SHAPE * (plan.width + MARGIN))));
  const length = plan.height / columns;
  const gaps = gapsOf(boxes).map((gap) => [lanesOf(plan, gap).length, gap]).filter(([count]) => count <= MOST_PASSING);
  const cuts = [];
  for (let k = 1; k < columns; k += 1) {
    const near = gaps.map(([count, gap]) => [count, Math.abs(gap - k * length), gap]).filter(([, far]) => far < REACH * length);
    near.sort(([a, x], [b, y]) => a - b || x - y);
    if (near.length) cuts.push(near[0][2]);
  }
  return cuts;
}

/** The middles of the gaps between layers: heights at which there is no box. */
function gapsOf(boxes) {
  const spans = boxes.map(([[, y], [, h]]) => [y - h / 2, y + h / 2]).sort(([a, b], [c, d]) => a - c || b - d);
  const gaps = [];
  let bottom = Infinity;
  for (const [top, below] of spans) {
    if (top > bottom) gaps.push((top + bottom) / 2);
    bottom = bottom === Infinity ? below : Math.max(bottom, below);
  }
  return gaps;
}

/** Where the edges begin that pass a cut, from the right: the order in which they reach the gutter. */
function lanesOf(plan, cut) {
  const at = new Map();
  for (const route of plan.routes) {
    if (route[0][1] < cut && cut < route.at(-1)[1]) {
      at.set(startOf(route), route[route.findIndex(([, y]) => cut <= y) - 1][0]);
    }
  }
  return [...at.keys()].sort((a, b) => at.get(b) - at.get(a));
}

/** The left and the right end of each column. */
function extentsOf(plan, boxes, column, count) {
  const ends = Array.from({ length: count }, () => [Infinity, -Infinity]);
  const widen = (x, y) => {
    const end = ends[column(y)];
    end[0] = Math.min(end[0], x);
    end[1] = Math.max(end[1], x);
  };
  for (const [[x, y], [width]] of boxes) {
    widen(x - width / 2, y);
    widen(x + width / 2, y);
  }
  for (const route of plan.routes) for (const [x, y] of route) widen(x, y);
  return ends;
}
