// Copies the libraries of node_modules into the sources, with their licenses and sums.
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const files = { "htmx.org": ["dist/htmx.min.js", "htmx.js"], "htmx-ext-sse": ["dist/sse.min.js", "sse.js"], idiomorph: ["dist/idiomorph-ext.min.js", "idiomorph.js"] };
const lock = JSON.parse(readFileSync("package-lock.json")).packages;
const lines = [];
for (const [name, [from, to]] of Object.entries(files)) {
  const locked = lock[`node_modules/${name}`];
  for (const [source, target] of [[from, to], ["LICENSE", `LICENSE.${name}`]]) {
    copyFileSync(`node_modules/${name}/${source}`, `../page/static/${target}`);
    const sum = createHash("sha256").update(readFileSync(`../page/static/${target}`)).digest("hex");
    lines.push(`${sum} ${target} ${name}@${locked.version} ${locked.integrity}\n`);
  }
}
writeFileSync("sums.txt", lines.join(""));
