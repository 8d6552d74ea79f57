// The page of funcgrad.explore: it reads the data in the page, and shows one pane of it at one step.

import { element, valueElement } from "./arrays.js";
import { evaluatorOf } from "./evaluator.js";
import { Graph } from "./graph.js";
import { decoded, labelText, parsed, short, valueText } from "./numbers.js";
import { Scan } from "./scan.js";

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const evaluator = evaluatorOf(data.program);
const formulas = data.formulas ?? {};
const inputs = new Map(data.inputs.map(({ name, value }) => [name, value === null ? null : decoded(value)]));
const PLAY_MS = 900;
const BLOCK = 40; // rows of the map that the browser lays out, or leaves out, together

let values = data.values ? data.values.map(decoded) : null;
let version = 0; // of the values
let pane = data.panes[0];
let scan = new Scan(pane);
let selected = -1;
let player = 0;
let rows = [];
let tabStop = null; // the button of the map that is in the tab order

// -- texts ----------------------------------------------------------------------------------------
/** The value at a place, or its formula where the page has no numbers. */
function textAt(place) {
  if (place === undefined || place < 0) return "";
  if (values && values[place] !== undefined) return valueText(values[place]);
  return formulas[place] ?? "";
}

/** The same in few characters, for a node of the graph. */
function labelAt(place) {
  return values && values[place] !== undefined ? labelText(values[place]) : textAt(place);
}

/** The array at a place, if the page has its entries. */
function arrayAt(place) {
  const value = values && place >= 0 ? values[place] : null;
  return value && typeof value === "object" && value.data.length ? value : null;
}

const LONGEST_NUMBER = 16; // of what stands on one line

/** What a step says, with its numbers, which are not broken after a minus sign. */
const words = (say) => say.map((part) => {
  if (typeof part === "string") return part;
  const text = textAt(part) || "…";
  return text.length > LONGEST_NUMBER ? text : element("span", { className: "number", textContent: text });
});
const isBack = (step) => step.pass === "backward";
const hasNow = (node) => scan.current.node === node && scan.current.pass !== "done" && scan.current.pass !== "start";

/** How a node is marked: whether its value is known, and whether the step is about it. */
function markOf(node) {
  return { known: scan.known[node] === 1, isNow: hasNow(node), isBack: isBack(scan.current) };
}

function stateOf(node) {
  const mark = markOf(node);
  const { known } = mark;
  return {
    ...mark,
    value: known && pane.nodes[node].kind !== "constant" ? labelAt(pane.nodes[node].value) : "",
    gradient: labelAt(scan.gradients[node]),
    array: known ? arrayAt(pane.nodes[node].value) : null,
    gradientArray: arrayAt(scan.gradients[node]),
  };
}

let groupStates = new Map(); // by group, of the step that is shown

/** Of a folded group: how many nodes, how far the passes are, and whether the current node is within. */
function groupState(group) {
  if (!groupStates.has(group)) groupStates.set(group, groupStateNow(group));
  return groupStates.get(group);
}

function groupStateNow(group) {
  const members = membersOf(group);
  const reached = members.filter((i) => scan.known[i]).length;
  const graded = members.filter((i) => scan.gradients[i] >= 0).length;
  const all = `${members.length} nodes`;
  const part = reached < members.length ? `${reached} of ${all}` : graded && graded < members.length
    ? `gradients: ${graded}/${members.length}` : all;
  return { known: reached > 0, value: part, isNow: members.some(hasNow), isBack: isBack(scan.current) };
}

let members = new Map();
/** The nodes in a group, those of groups in it too. */
function membersOf(group) {
  if (!members.size) {
    pane.nodes.forEach((_, i) => {
      for (const around of graph.scene.around(i)) {
        if (!members.has(around)) members.set(around, []);
        members.get(around).push(i);
      }
    });
  }
  return members.get(group) ?? [];
}

const graph = new Graph(find("graph"), {
  text: stateOf,
  mark: markOf,
  groupText: groupState,
  onSelect: (node) => choose(node, false),
  onToggle: (group) => graph.toggle(group),
});

// -- the map --------------------------------------------------------------------------------------
function fillRows() {
  rows = pane.nodes.map((node, i) => {
    // One row is in the tab order: the arrow keys go to the others.
    const name = element("button", { type: "button", textContent: node.name, tabIndex: -1 });
    name.setAttribute("aria-label", `Select ${node.name}`);
    // Rows are grids, so that one is laid out by itself; their roles are said, since those of a table are then lost.
    const head = element("th", { scope: "row", role: "rowheader" }, name);
    const formula = element("td", { role: "cell", textContent: node.formula });
    const value = element("td", { role: "cell", className: "value" });
    const gradient = element("td", { role: "cell", className: "gradient" });
    const row = element("tr", { role: "row" }, head, formula, value, gradient);
    row.hidden = node.is_number;
    row.addEventListener("click", () => choose(i, true));
    return { row, name, value, gradient, marks: -1, at: -1, before: -1, version: -1 };
  });
  const blocks = [];
  for (let k = 0; k < rows.length; k += BLOCK) {
    const block = element("tbody", { role: "rowgroup" }, ...rows.slice(k, k + BLOCK).map(({ row }) => row));
    block.style.containIntrinsicHeight = `auto ${1.6 * block.querySelectorAll("tr:not([hidden])").length}rem`;
    blocks.push(block);
  }
  find("rows").replaceChildren(find("rows").tHead, ...blocks);
}

/** Write the rows that the step changes: at 2,000 nodes, all but a few stay as they are. */
function updateRows() {
  rows.forEach((item, i) => {
    const { known, isNow, isBack: isBackward } = markOf(i);
    const isSelected = i === selected;
    const marks = Number(known) + 2 * Number(isNow) + 4 * Number(isNow && isBackward) + 8 * Number(isSelected);
    const at = scan.gradients[i];
    const before = scan.changed.get(i) ?? -2;
    if (item.marks === marks && item.at === at && item.before === before && item.version === version) return;
    Object.assign(item, { marks, at, before, version });
    const [old, gradient] = [textAt(before), textAt(at)];
    item.value.textContent = known ? textAt(pane.nodes[i].value) : "";
    item.gradient.replaceChildren(
      ...(old && old !== gradient ? [element("s", { textContent: old }), " "] : []), gradient,
    );
    const { classList } = item.row;
    classList.toggle("later", !known);
    classList.toggle("now", isNow);
    classList.toggle("back", isNow && isBackward);
    classList.toggle("changed", before > -2);
    classList.toggle("selected", isSelected);
    if (isNow) item.row.setAttribute("aria-current", "step");
    else item.row.removeAttribute("aria-current");
  });
}

/** Scroll a row into view, inside the map alone. */
function bringRow(node) {
  const box = find("map");
  const { row } = rows[node];
  const [seen, at] = [box.getBoundingClientRect(), row.getBoundingClientRect()];
  if (at.top < seen.top + 30 || at.bottom > seen.bottom) {
    box.scrollTop += at.top - seen.top - box.clientHeight / 2;
  }
}

// -- steps ----------------------------------------------------------------------------------------
function show(step) {
  scan.go(Math.max(0, Math.min(pane.steps.length - 1, step)));
  groupStates = new Map();
  updateRows();
  const { node, say, pass } = scan.current;
  find("say").replaceChildren(...words(say));
  find("range").value = scan.step;
  find("range").setAttribute("aria-valuetext", `Step ${scan.step}, ${pass}`);
  find("count").textContent = `${pass} ${scan.step} / ${pane.steps.length - 1}`;
  if (pass === "forward" || pass === "backward") {
    graph.bring(node);
    bringRow(node);
  }
  showDetails();
  graph.redraw();
}

function play(isOn) {
  clearInterval(player);
  player = 0;
  find("play").setAttribute("aria-pressed", String(isOn));
  if (!isOn) return;
  if (scan.step === pane.steps.length - 1) show(0);
  player = setInterval(() => {
    show(scan.step + 1);
    if (scan.step === pane.steps.length - 1) play(false);
  }, PLAY_MS);
}

// -- the selected node ----------------------------------------------------------------------------
function choose(node, brings) {
  selected = node;
  graph.selected = node;
  if (node >= 0 && brings) graph.bring(node);
  if (node >= 0) bringRow(node);
  updateRows();
  moveTabStop();
  showDetails();
  graph.redraw();
}

/** The tab key comes to the selected row, or to the first; a focus within the map goes with the selection. */
function moveTabStop() {
  const next = rows[selected]?.name ?? tabStop ?? rows.find(({ row }) => !row.hidden)?.name;
  if (!next || next === tabStop) return;
  const hasFocus = document.activeElement === tabStop;
  if (tabStop) tabStop.tabIndex = -1;
  next.tabIndex = 0;
  if (tabStop && hasFocus) next.focus({ preventScroll: true });
  tabStop = next;
}

function entry(list, name, ...content) {
  list.append(element("dt", { textContent: name }), element("dd", {}, ...content));
}

function showDetails() {
  const place = find("details");
  if (selected < 0) {
    place.replaceChildren();
    return;
  }
  const node = pane.nodes[selected];
  const list = element("dl");
  entry(list, "formula", node.formula);
  entry(list, "type", node.type);
  const at = (k) => (values ? valueElement(values[k], node.name) : element("span", { textContent: formulas[k] ?? "" }));
  if (scan.known[selected] && node.value >= 0) entry(list, "value", at(node.value));
  const gradient = scan.gradients[selected];
  if (gradient >= 0) {
    const shown = element("span", { className: "gradient" }, at(gradient));
    entry(list, "gradient", ...(values && formulas[gradient] && !isNumber(formulas[gradient], textAt(gradient)) ? [`${formulas[gradient]} = `] : []), shown);
  }
  for (const map of node.maps) {
    const operand = pane.nodes[node.operands[map.operand]].name;
    const number = map.value !== undefined && textAt(map.value) && textAt(map.value) !== map.slope
      ? ` = ${textAt(map.value)}` : "";
    const text = map.slope ? `d${node.name}/d${operand} = ${map.slope}${number}; g ↦ ${map.pullback}` : `g ↦ ${map.pullback}`;
    entry(list, `to ${operand}`, text);
  }
  const users = graph.scene.users[selected].map((i) => pane.nodes[i].name);
  if (users.length) entry(list, "used by", users.slice(0, 12).join(", ") + (users.length > 12 ? ", …" : ""));
  if (node.runs) entry(list, "runs", node.runs.map((group) => pane.groups[group].title).join(", "));
  if (node.source) entry(list, "source", data.sources[node.source - 1]);
  place.replaceChildren(element("h2", {}, "Node ", element("code", { textContent: node.name })), list);
}

// -- panes and inputs -----------------------------------------------------------------------------
/** Whether a formula says no more than its value: it is a number, as 1.0 beside 1, or the same text. */
function isNumber(formula, text) {
  return formula === text || Number(formula) === Number(text);
}

/** The functions that nodes of the pane run. */
function definitions() {
  if (!pane.definitions.length) return [];
  return [element("h2", { textContent: "Functions" }), element("pre", { textContent: pane.definitions.join("\n") })];
}

function showResults() {
  const place = find("results");
  const line = (root) => {
    const text = textAt(pane.nodes[root.node].value);
    return text && !isNumber(root.formula, text) ? `${root.formula} = ${text}` : text || root.formula;
  };
  if (pane.matrix) {
    const n = pane.matrix.length;
    const head = element("tr", {}, element("td"), ...pane.matrix.map((name) => element("th", { textContent: name, scope: "col" })));
    const body = pane.matrix.map((name, i) => element("tr", {}, element("th", { textContent: name, scope: "row" }),
      ...pane.roots.slice(i * n, (i + 1) * n).map((root) => element("td", { textContent: line(root) }))));
    place.replaceChildren(element("h2", { textContent: "Hessian" }), element("table", { className: "entries" }, element("tbody", {}, head, ...body)), ...definitions());
    return;
  }
  const list = element("dl");
  for (const root of pane.roots) entry(list, root.name, line(root));
  place.replaceChildren(list, ...definitions());
}

function showPane(index) {
  play(false);
  pane = data.panes[index];
  members = new Map();
  groupStates = new Map();
  scan = new Scan(pane);
  selected = -1;
  tabStop = null;
  [...find("tabs").children].forEach((tab, i) => {
    tab.setAttribute("aria-selected", String(i === index));
    tab.tabIndex = i === index ? 0 : -1;
  });
  find("pane").setAttribute("aria-labelledby", `tab${index}`);
  graph.show(pane);
  for (const id of ["fold", "unfold"]) find(id).hidden = !pane.groups.length;
  find("range").max = pane.steps.length - 1;
  fillRows();
  moveTabStop();
  showResults();
  show(pane.steps.length - 1);
}

function evaluate() {
  if ([...inputs.values()].some((value) => value === null)) return;
  values = evaluator.run(inputs);
  version += 1;
  showResults();
  show(scan.step);
}

function makeInputs() {
  const form = find("inputs");
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const { name, value } of data.inputs) {
    const field = element("input", { type: "text", autocomplete: "off", spellcheck: false });
    field.inputMode = "decimal";
    if (value !== null) field.value = typeof value === "object" ? value.text : exact(decoded(value));
    field.disabled = Boolean(evaluator.refusal);
    field.dataset.name = name;
    field.addEventListener("input", () => {
      const number = parsed(field.value);
      field.setAttribute("aria-invalid", String(number === null));
      if (number === null) return;
      inputs.set(name, number);
      evaluate();
    });
    form.append(element("label", {}, `${name} = `, field));
  }
  if (evaluator.refusal && data.inputs.length) {
    form.append(element("p", { textContent: `The inputs cannot be changed here: ${evaluator.refusal}.` }));
  }
}

/** A number with all its digits. */
function exact(value) {
  return Number.isFinite(value) ? String(value) : short(value);
}

function makeTabs() {
  find("tabs").append(...data.panes.map((item, i) => {
    const tab = element("button", { type: "button", textContent: item.title });
    tab.setAttribute("role", "tab");
    tab.id = `tab${i}`;
    tab.setAttribute("aria-controls", "pane");
    tab.addEventListener("click", () => showPane(i));
    tab.addEventListener("keydown", (event) => {
      const to = i + (event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0);
      if (to === i || !data.panes[to]) return;
      event.stopPropagation();
      showPane(to);
      find("tabs").children[to].focus();
    });
    return tab;
  }));
}

// -- controls -------------------------------------------------------------------------------------
const move = (by) => () => {
  play(false);
  show(scan.step + by);
};
const goTo = (step) => () => {
  play(false);
  show(step());
};
const controls = {
  first: goTo(() => 0), back: move(-1), next: move(1), last: goTo(() => pane.steps.length - 1),
  play: () => play(!player), in: () => graph.scale(1.3), out: () => graph.scale(1 / 1.3), fit: () => graph.fit(),
  fold: () => graph.setAll(false), unfold: () => graph.setAll(true),
};

function selectNext(by) {
  let node = selected < 0 ? (by > 0 ? -1 : pane.nodes.length) : selected;
  do node += by; while (rows[node]?.row.hidden);
  if (pane.nodes[node]) choose(node, true);
}

function toggleAround() {
  if (selected < 0) return;
  const around = graph.scene.around(selected);
  const folded = around.find((group) => !graph.open.has(group));
  if (folded !== undefined) graph.reveal(selected);
  else if (pane.nodes[selected].runs) pane.nodes[selected].runs.forEach((group) => graph.toggle(group));
  else if (around.length) graph.toggle(around.at(-1));
  graph.bring(selected);
}

const keys = {
  ArrowRight: controls.next, ArrowLeft: controls.back, Home: controls.first, End: controls.last, " ": controls.play,
  ArrowDown: () => selectNext(1), ArrowUp: () => selectNext(-1), Enter: toggleAround, Escape: () => choose(-1, false),
  "+": controls.in, "=": controls.in, "-": controls.out, 0: controls.fit, u: controls.unfold, f: controls.fold,
};

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.matches("input[type=text]") || (target.matches("button") && [" ", "Enter"].includes(event.key))) return;
  if (target.matches("input[type=range]") && event.key.startsWith("Arrow")) return;
  const index = Number(event.key) - 1;
  const action = keys[event.key] ?? (data.panes[index] ? () => showPane(index) : null);
  if (!action) return;
  event.preventDefault();
  action();
});
for (const [id, action] of Object.entries(controls)) find(id).addEventListener("click", action);
find("range").addEventListener("input", (event) => {
  play(false);
  show(Number(event.target.value));
});

makeTabs();
makeInputs();
showPane(0);
