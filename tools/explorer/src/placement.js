// The x of each point of a layered drawing, which keeps long edges straight, as in horizontal_placement.py (Brandes and
// Köpf, 2001): blocks of aligned points are packed from four sides, and the middle of the four places is taken.

/** The x of each point, with `gap` at least between the points of a layer. */
export function horizontalPlaces(layers, up, down, widths, bends, gap) {
  const crossed = crossedEdges(layers, up, bends);
  const plans = [];
  const upward = layers.toReversed();
  for (const [near, rows] of [[up, layers], [down, upward]]) {
    for (const leaning of [1, -1]) {
      const ordered = leaning > 0 ? rows : rows.map((row) => row.toReversed());
      plans.push(packed(ordered, aligned(ordered, near, crossed), widths, gap).map((x) => leaning * x));
    }
  }
  const xs = balanced(plans, widths);
  for (const rows of [layers, upward, layers, upward]) shiftIntoLine(rows, up, down, widths, bends, gap, xs);
  return xs;
}

/** Move nodes to the mean of their neighbors as far as there is room beside the others of the layer. */
function shiftIntoLine(rows, up, down, widths, bends, gap, xs) {
  for (const row of rows) {
    row.forEach((p, k) => {
      const count = up[p].length + down[p].length;
      if (bends[p] || !count) return;
      let sum = 0;
      for (const q of up[p]) sum += xs[q];
      for (const q of down[p]) sum += xs[q];
      let x = sum / count;
      if (k + 1 < row.length) x = Math.min(x, xs[row[k + 1]] - (widths[p] + widths[row[k + 1]]) / 2 - gap);
      if (k) x = Math.max(x, xs[row[k - 1]] + (widths[p] + widths[row[k - 1]]) / 2 + gap);
      xs[p] = x;
    });
  }
}

function positions(layer) {
  return new Map(layer.map((p, k) => [p, k]));
}

/** The edges, either way round, that cross a straight part of a long edge: they are not aligned. */
function crossedEdges(layers, up, bends) {
  const found = new Set();
  const { length } = up;
  for (let k = 1; k < layers.length; k += 1) {
    const at = positions(layers[k - 1]);
    const below = layers[k];
    let left = 0;
    let waiting = [];
    below.forEach((p, index) => {
      waiting.push(p);
      const inner = bends[p] ? up[p].filter((q) => bends[q]) : [];
      if (!inner.length && index < below.length - 1) return;
      const right = inner.length ? at.get(inner[0]) : layers[k - 1].length - 1;
      for (const lower of waiting) {
        for (const q of up[lower]) {
          if (at.get(q) < left || at.get(q) > right) found.add(q * length + lower).add(lower * length + q);
        }
      }
      left = right;
      waiting = [];
    });
  }
  return found;
}

/** The first point of the block of each point, the rows being visited from the first. */
function aligned(rows, near, crossed) {
  const roots = near.map((_, p) => p);
  for (let k = 1; k < rows.length; k += 1) {
    const before = rows[k - 1];
    const at = positions(before);
    let last = -1;
    for (const p of rows[k]) {
      const places = near[p].map((q) => at.get(q)).sort((a, b) => a - b);
      const middle = places.length;
      for (const place of new Set(places.slice((middle - 1) >> 1, (middle >> 1) + 1))) {
        if (last < place && !crossed.has(before[place] * near.length + p)) {
          roots[p] = roots[before[place]];
          last = place;
          break;
        }
      }
    }
  }
  return roots;
}

/** The x of each point, of blocks packed to the left and then as far right as their neighbors let them. */
function packed(rows, roots, widths, gap) {
  const rooms = new Map(roots.map((root) => [root, new Map()]));
  const waits = new Map([...rooms.keys()].map((root) => [root, 0]));
  for (const row of rows) {
    for (let k = 1; k < row.length; k += 1) {
      const [a, b] = [row[k - 1], row[k]];
      const right = rooms.get(roots[a]);
      if (!right.has(roots[b])) waits.set(roots[b], waits.get(roots[b]) + 1);
      right.set(roots[b], Math.max(right.get(roots[b]) ?? 0, (widths[a] + widths[b]) / 2 + gap));
    }
  }
  const xs = new Map([...rooms.keys()].map((root) => [root, 0]));
  const order = [...rooms.keys()].filter((root) => !waits.get(root));
  for (const root of order) { // grows while it is read
    for (const [other, room] of rooms.get(root)) {
      xs.set(other, Math.max(xs.get(other), xs.get(root) + room));
      waits.set(other, waits.get(other) - 1);
      if (!waits.get(other)) order.push(other);
    }
  }
  for (const root of order.toReversed()) {
    let most = Infinity;
    for (const [other, room] of rooms.get(root)) most = Math.min(most, xs.get(other) - room);
    if (most < Infinity) xs.set(root, most);
  }
  return roots.map((root) => xs.get(root));
}

/** The mean of the middle two of four places, the plans being shifted onto the narrowest. */
function balanced(plans, widths) {
  const edges = plans.map((xs) => xs.reduce(
    ([low, high], x, p) => [Math.min(low, x - widths[p] / 2), Math.max(high, x + widths[p] / 2)], [Infinity, -Infinity],
  ));
  const [low, high] = edges.reduce((least, edge) => (edge[1] - edge[0] < least[1] - least[0] ? edge : least));
  const shifts = edges.map(([left, right], k) => (k % 2 ? high - right : low - left));
  return plans[0].map((_, p) => {
    const [, a, b] = plans.map((xs, k) => xs[p] + shifts[k]).sort((x, y) => x - y);
    return (a + b) / 2;
  });
}
