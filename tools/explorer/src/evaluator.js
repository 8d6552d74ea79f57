// Programs on numbers: the templates of operations are syntax trees, made closures here. No text is run as code.

const buffer = new DataView(new ArrayBuffer(8));

function isNegative(x) {
  buffer.setFloat64(0, x);
  return buffer.getUint8(0) >> 7 === 1;
}

const copysign = (x, y) => (isNegative(y) ? -Math.abs(x) : Math.abs(x));

/** The remainder with the sign of the divisor, as in Python and NumPy. */
function remainder(x, y) {
  const rest = x % y;
  if (rest === 0) return copysign(0, y);
  return rest < 0 !== y < 0 && !Number.isNaN(rest) ? rest + y : rest;
}

/** The floor of the quotient as NumPy takes it, exact where the quotient is rounded up to an integer. */
function floorDivide(x, y) {
  if (y === 0) return x / y;
  const rest = x % y;
  const quotient = (x - rest) / y - (rest !== 0 && rest < 0 !== y < 0 && !Number.isNaN(rest) ? 1 : 0);
  if (quotient === 0) return copysign(0, x / y);
  const down = Math.floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

/** To the nearest integer, a half to the even one. */
function round(x) {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return Math.round(x);
  return down % 2 === 0 ? down : down + 1;
}

/** The power as in C, where 1**nan and (-1)**inf are 1. */
function pow(x, y) {
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return x ** y;
}

/** Functions of numbers by their names in Python's math. */
export const FUNCTIONS = {
  abs: Math.abs, acos: Math.acos, acosh: Math.acosh, asin: Math.asin, asinh: Math.asinh, atan: Math.atan,
  atan2: Math.atan2, atanh: Math.atanh, cbrt: Math.cbrt, ceil: Math.ceil, copysign, cos: Math.cos,
  cosh: Math.cosh, degrees: (x) => (x * 180) / Math.PI, exp: Math.exp, exp2: (x) => 2 ** x, expm1: Math.expm1,
  floor: Math.floor, floor_divide: floorDivide, fmod: (x, y) => x % y, hypot: Math.hypot,
  isfinite: Number.isFinite, isinf: (x) => Math.abs(x) === Infinity, isnan: Number.isNaN, log: Math.log,
  log10: Math.log10, log1p: Math.log1p, log2: Math.log2, pow, radians: (x) => (x * Math.PI) / 180, round,
  sin: Math.sin, sinh: Math.sinh, sqrt: Math.sqrt, tan: Math.tan, tanh: Math.tanh, trunc: Math.trunc,
  "+": (x, y) => x + y, "-": (x, y) => x - y, "*": (x, y) => x * y, "/": (x, y) => x / y, "%": remainder,
  "<": (x, y) => x < y, "<=": (x, y) => x <= y, ">": (x, y) => x > y, ">=": (x, y) => x >= y,
  "==": (x, y) => Number(x) === Number(y), "!=": (x, y) => Number(x) !== Number(y),
  "unary -": (x) => -x, "unary not": (x) => !x,
};

/** A syntax tree as a function of the list of operands. */
function compiled(tree) {
  const [head, ...rest] = tree;
  if (head === "x") return (given) => given[rest[0]];
  if (head === "number") return () => rest[0];
  const parts = rest.map(compiled);
  if (head === "if") return (given) => (parts[0](given) ? parts[1](given) : parts[2](given));
  if (head === "and") return (given) => parts.reduce((found, part) => found && part(given), true);
  if (head === "or") return (given) => parts.reduce((found, part) => found || part(given), false);
  if (!Object.hasOwn(FUNCTIONS, head)) throw new Error(`${head} has no form in the page`);
  const f = FUNCTIONS[head];
  return (given) => f(...parts.map((part) => part(given)));
}

/**
 * The evaluator of a page: `run(inputs)` gives the list of values, or `refusal` says why there is none.
 * @param {{templates: any[], steps: any[][], at: number[], refusal?: string}} program
 */
export function evaluatorOf(program) {
  if (program.refusal) return { refusal: program.refusal };
  let templates;
  try {
    templates = program.templates.map(compiled);
  } catch (error) {
    return { refusal: error.message };
  }
  const run = (inputs) => {
    const found = [];
    for (const [head, ...rest] of program.steps) {
      if (head === "input") found.push(inputs.get(rest[0]));
      else if (head === "constant") found.push(rest[0] === "inf" ? Infinity : rest[0] === "-inf" ? -Infinity
        : rest[0] === "nan" ? NaN : rest[0]);
      else found.push(templates[head](rest.map((k) => found[k])));
    }
    return program.at.map((k) => found[k]);
  };
  return { run };
}
