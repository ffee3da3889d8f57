// Builds the plain page with a fake kernel into a folder: node page.mjs OUT
import { mkdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = process.argv[2] ?? "dist/page";
mkdirSync(out, { recursive: true });
await build({
  entryPoints: { page: "test-support/page.ts" },
  outdir: out,
  bundle: true,
  format: "iife",
  target: ["es2022"],
  minify: true,
  logLevel: "warning",
});
writeFileSync(
  `${out}/index.html`,
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>bertlens on a fake kernel</title>
<link rel="stylesheet" href="page.css">
<body>
<script src="attention.js" onerror="0"></script>
<script src="page.js"></script>
`,
);
