// The order of the points in each layer of a drawing: few crossings, by sweeps over medians and exchanges, as in
// layer_order.py (Gansner, Koutsofios, North and Vo, 1993).

const MOST_SWEEPS = 24;
const PATIENCE = 4; // sweeps without improvement before the last
const MOST_PASSES = 4; // of exchanges after each sweep
const POINT_BUDGET = 100_000; // points that sweeps visit, about, so that large drawings take linear time

/** The points of each layer in an order with few crossings. */
export function orderedLayers(layers, up, down) {
  const current = layers.map((layer) => [...layer]);
  const at = new Int32Array(up.length);
  let best = current.map((layer) => [...layer]);
  let fewest = crossings(current, down, at);
  const sweeps = Math.max(4, Math.min(MOST_SWEEPS, Math.floor(POINT_BUDGET / Math.max(1, up.length))));
  for (let sweep = 0, idle = 0; sweep < sweeps && fewest && idle < PATIENCE; sweep += 1) {
    sortByMedians(current, sweep % 2 ? down : up, sweep, at);
    transpose(current, up, down, at);
    const count = crossings(current, down, at);
    idle += 1;
    if (count < fewest) {
      best = current.map((layer) => [...layer]);
      fewest = count;
      idle = 0;
    }
  }
  return best;
}

function place(layers, at) {
  for (const layer of layers) layer.forEach((p, k) => { at[p] = k; });
}

/** How many pairs of edges between neighboring layers cross. */
function crossings(layers, down, at) {
  place(layers, at);
  let count = 0;
  for (const layer of layers) {
    const seen = [];
    for (const p of layer) {
      for (const value of down[p].map((q) => at[q]).sort((a, b) => a - b)) {
        let [low, high] = [0, seen.length];
        while (low < high) {
          const middle = (low + high) >> 1;
          if (seen[middle] > value) high = middle;
          else low = middle + 1;
        }
        count += seen.length - low;
        seen.splice(low, 0, value);
      }
    }
  }
  return count;
}

/** Sort each layer by the medians of neighbors in the one before; points without stay where they are. */
function sortByMedians(layers, near, sweep, at) {
  const step = sweep % 2 ? -1 : 1;
  for (let k = step > 0 ? 1 : layers.length - 2; k >= 0 && k < layers.length; k += step) {
    layers[k - step].forEach((p, i) => { at[p] = i; });
    const layer = layers[k];
    const weights = new Map();
    for (const p of layer) if (near[p].length) weights.set(p, median(near[p].map((q) => at[q]).sort((a, b) => a - b)));
    // Equal medians change places in every other pair of sweeps, which leads out of local minima.
    const moving = (sweep % 4 > 1 ? layer.toReversed() : layer).filter((p) => weights.has(p));
    moving.sort((p, q) => weights.get(p) - weights.get(q));
    let next = 0;
    layers[k] = layer.map((p) => (weights.has(p) ? moving[next++] : p));
  }
}

/** The median; of an even number of values, between the middle two, nearer to the denser side. */
function median(values) {
  const middle = values.length >> 1;
  if (values.length % 2) return values[middle];
  if (values.length === 2) return (values[0] + values[1]) / 2;
  const left = values[middle - 1] - values[0];
  const right = values.at(-1) - values[middle];
  if (!(left + right)) return (values[middle - 1] + values[middle]) / 2;
  return (values[middle - 1] * right + values[middle] * left) / (left + right);
}

/** Exchange neighboring points where that saves crossings, in a few passes over all layers. */
function transpose(layers, up, down, at) {
  place(layers, at);
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    let exchanged = false;
    for (const layer of layers) {
      for (let k = 0; k + 1 < layer.length; k += 1) {
        const [a, b] = [layer[k], layer[k + 1]];
        if (saved(up[a], up[b], at) + saved(down[a], down[b], at) > 0) {
          [layer[k], layer[k + 1]] = [b, a];
          at[a] = k + 1;
          at[b] = k;
          exchanged = true;
        }
      }
    }
    if (!exchanged) return;
  }
}

/** How many crossings fewer the edges of two neighbors have if these change places. */
function saved(nearA, nearB, at) {
  let count = 0;
  for (const p of nearA) for (const q of nearB) count += Math.sign(at[p] - at[q]);
  return count;
}
