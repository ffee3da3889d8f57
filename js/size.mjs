// Fails when the bundle (js and css together) outgrows what the page may cost. The late panes are
// shown beside it: they cross when one is wanted.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const RAW = 120_000;
const GZIP = 42_000;

let raw = 0;
let gzip = 0;
for (const name of ["widget.js", "widget.css", "late.js"]) {
  const bytes = readFileSync(new URL(`../bertlens/widgets/static/${name}`, import.meta.url));
  const packed = gzipSync(bytes, { level: 9 }).length;
  console.log(`${name}: ${bytes.length} bytes, ${packed} gzipped`);
  if (name === "late.js") continue;
  raw += bytes.length;
  gzip += packed;
}
console.log(
  `widget.js and widget.css: ${raw} bytes (limit ${RAW}), ${gzip} gzipped (limit ${GZIP})`,
);
if (raw >= RAW || gzip >= GZIP) {
  console.error("The bundle is over its size limit.");
  process.exit(1);
}
