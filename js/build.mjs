// Bundles the page into ../bertlens/widgets/static: widget.js (one ES module) and widget.css.
// `--watch` rebuilds on every change, for hot reload in a notebook.
import { build, context } from "esbuild";

/** @type {import("esbuild").BuildOptions} */
const options = {
  entryPoints: { widget: "src/index.ts" },
  outdir: "../bertlens/widgets/static",
  bundle: true,
  format: "esm",
  target: ["es2022"],
  loader: { ".css": "css" },
  legalComments: "none",
  logLevel: "info",
};

if (process.argv.includes("--watch")) {
  const watching = await context({ ...options, sourcemap: "inline" });
  await watching.watch();
} else {
  await build({ ...options, minify: true });
}
