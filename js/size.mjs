// Fails when the bundle (js and css together) outgrows what the page may cost.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const RAW = 100_000;
const GZIP = 35_000;

let raw = 0;
let gzip = 0;
for (const name of ["widget.js", "widget.css"]) {
  const bytes = readFileSync(new URL(`../bertlens/widgets/static/${name}`, import.meta.url));
  const packed = gzipSync(bytes, { level: 9 }).length;
  console.log(`${name}: ${bytes.length} bytes, ${packed} gzipped`);
  raw += bytes.length;
  gzip += packed;
}
console.log(`together: ${raw} bytes (limit ${RAW}), ${gzip} gzipped (limit ${GZIP})`);
if (raw >= RAW || gzip >= GZIP) {
  console.error("The bundle is over its size limit.");
  process.exit(1);
}
