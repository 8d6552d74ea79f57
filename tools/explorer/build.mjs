// The page of funcgrad.explore: sources and packages in one file, with the packages' licenses.
// `npm ci && npm run build` writes src/funcgrad/show/drawing/explorer_page.html.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const target = `${here}../../src/funcgrad/show/drawing/explorer_page.html`;

const result = await build({
  entryPoints: [`${here}src/main.js`],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
});

const packages = new Set(Object.keys(result.metafile.inputs)
  .filter((path) => path.includes("node_modules/"))
  .map((path) => path.split("node_modules/").at(-1).match(/^(@[^/]+\/)?[^/]+/)[0]));
const licenses = [...packages].sort().map((name) => {
  const folder = `${here}node_modules/${name}/`;
  const { version } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  return `${name} ${version}\n\n${readFileSync(`${folder}LICENSE`, "utf8").trim()}`;
});
// A test compares this with the sources, so that a page that was not built anew is noticed.
const digest = createHash("sha256");
for (const name of readdirSync(`${here}src`).sort()) digest.update(readFileSync(`${here}src/${name}`));
digest.update(readFileSync(`${here}package-lock.json`));
const notice = `/*\nSources: ${digest.digest("hex")}\n\nThis page contains the following packages.\n\n${licenses.join("\n\n").replaceAll("*/", "* /")}\n*/`;
const script = result.outputFiles[0].text.trim();
const page = readFileSync(`${here}src/page.html`, "utf8")
  .replace("/* STYLE */", () => readFileSync(`${here}src/page.css`, "utf8").trim())
  .replace("/* SCRIPT */", () => `${notice}\n${script}`);
writeFileSync(target, page);
console.log(`${target}: ${page.length} bytes; ${[...packages].join(", ")}`);
