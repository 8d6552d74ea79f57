// Numbers as Python's funcgrad writes them (funcgrad.show.text.short): six significant digits where more are noise.

/** The digits of a finite number without its sign, and its decimal exponent: 0.25 is ["25", -1]. */
function scientific(text) {
  const [mantissa, exponent] = text.split("e");
  return [mantissa.replace(".", "").replace(/0+$/, "") || "0", Number(exponent)];
}

/** Digits and exponent as Python writes them: an exponent from `limit` on and below -4. */
function written(digits, exponent, limit) {
  if (exponent < -4 || exponent >= limit) {
    const sign = exponent < 0 ? "-" : "+";
    const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
    return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** A number in few characters: 3 for 3.0, inf and nan as in Python. */
export function short(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value === 0 ? 0 : value);
  const sign = value < 0 ? "-" : "";
  const magnitude = Math.abs(value);
  const exact = sign + written(...scientific(magnitude.toExponential()), 16).replace(/\.0(?=e|$)/, ".0");
  const plain = exact.length <= 8 ? exact : sign + written(...scientific(magnitude.toExponential(5)), 6);
  return exact.length <= 8 ? plain : plain.replace(/\.0$/, "");
}

/** A number in a node of the graph: four significant digits, three of one with an exponent. */
function label(value) {
  if (!Number.isFinite(value) || value === 0) return short(value);
  const sign = value < 0 ? "-" : "";
  const plain = written(...scientific(Math.abs(value).toExponential(3)), 5).replace(/\.0$/, "");
  return sign + (plain.includes("e") ? written(...scientific(Math.abs(value).toExponential(2)), 5) : plain);
}

/** A value's text in a node of the graph. */
export function labelText(value) {
  return typeof value === "number" ? label(value) : valueText(value).replace(/^float64\[/, "[");
}

/** A value of the page's list: JSON has words for what it cannot hold. */
export function decoded(value) {
  if (value === "nan") return NaN;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (value && typeof value === "object") return { ...value, data: value.data.map(decoded) };
  return value;
}

/** A value as text: a number, or the text of an array. */
export function valueText(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? value.text : short(value);
}

/** The number that a reader typed; null if it is none. */
export function parsed(text) {
  const plain = text.trim().replace("−", "-").toLowerCase();
  if (/^[-+]?inf(inity)?$/.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  if (plain === "nan") return NaN;
  if (plain === "" || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/.test(plain)) return null;
  return Number(plain);
}
