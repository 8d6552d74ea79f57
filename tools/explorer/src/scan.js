// The state after each step, as the scan has it: which values are known, and the gradient map.

/** The states of a pane's steps; moving to a step goes forward from the nearest state that was kept. */
export class Scan {
  constructor(pane) {
    this.pane = pane;
    this.go(pane.steps.length - 1);
  }

  /** The state after a step: `known` values, `gradients` (places of values, -1 for none), and what changed. */
  go(step) {
    const { nodes, steps } = this.pane;
    const known = new Uint8Array(nodes.length);
    const gradients = new Int32Array(nodes.length).fill(-1);
    nodes.forEach((node, i) => {
      if (node.kind === "constant" || node.inside) known[i] = 1;
    });
    const changed = new Map();
    for (let k = 0; k <= step; k += 1) {
      const { pass, node, changes } = steps[k];
      if (pass === "forward") known[node] = 1;
      for (const [i, place] of changes) {
        if (k === step) changed.set(i, gradients[i]);
        gradients[i] = place;
      }
    }
    Object.assign(this, { step, known, gradients, changed, current: steps[step] });
    return this;
  }
}
