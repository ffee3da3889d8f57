// Bundles the page into ../bertlens/widgets/static: widget.js (one ES module), widget.css, and late.js,
// the panes that the first paint does not need. `--watch` rebuilds on every change, for hot reload.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { minify } from "terser";

/** @type {import("esbuild").BuildOptions} */
const common = {
  outdir: "../bertlens/widgets/static",
  bundle: true,
  target: ["es2022"],
  loader: { ".css": "css" },
  legalComments: "none",
  logLevel: "info",
  metafile: true,
};

const source = fileURLToPath(new URL("src", import.meta.url));
const shared = readFileSync(join(source, "app/shared-modules.ts"), "utf8").matchAll(/from "(.+)"/g);
const names = new Set([...shared].map(([, name]) => name.replace(/^\.\.\//, "")));

/** Imports of what shared-modules.ts lists are read from the page's own copy. */
const fromCore = {
  name: "from-core",
  /** @param {import("esbuild").PluginBuild} late */
  setup(late) {
    late.onResolve({ filter: /.*/ }, ({ path, importer }) => {
      const inside = path.startsWith(".") && relative(source, join(dirname(importer), path));
      const name = inside || path;
      return names.has(name) ? { path: name, namespace: "core" } : undefined;
    });
    late.onLoad({ filter: /.*/, namespace: "core" }, ({ path }) => ({
      contents: `module.exports = core[${JSON.stringify(path)}]`,
    }));
  },
};

/** @type {import("esbuild").BuildOptions} */
const page = { ...common, entryPoints: { widget: "src/index.ts" }, format: "esm" };
/** @type {import("esbuild").BuildOptions} */
const late = {
  ...common,
  entryPoints: { late: "src/app/lazy-panes.ts" },
  format: "iife",
  globalName: "late",
  banner: { js: "export default (core) => {" },
  footer: { js: "return late;\n}" },
  plugins: [fromCore],
};

// Browsers that know this line (Chromium since 136) compile every function beside the main thread while the page
// loads, rather than one by one when first called: half of what the script costs before the first paint.
const EAGER = "//# allFunctionsCalledOnLoad";

if (process.argv.includes("--watch")) {
  for (const options of [page, late]) {
    const watching = await context({ ...options, sourcemap: "inline" });
    await watching.watch();
  }
} else {
  const built = await Promise.all([page, late].map((each) => build({ ...each, minify: true })));
  const [first, second] = built.map(({ metafile }) => Object.keys(metafile.inputs));
  const twice = second.filter((name) => first.includes(name));
  if (twice.length)
    throw new Error(`In both bundles, so to be listed in shared-modules.ts: ${twice}`);
  // Another pass over what esbuild left takes a twentieth off the compressed page.
  for (const name of ["widget.js", "late.js"]) {
    const path = join(common.outdir, name);
    const { code } = await minify(readFileSync(path, "utf8"), {
      module: true,
      ecma: 2020,
      compress: { passes: 2 },
    });
    writeFileSync(path, name === "widget.js" ? `${EAGER}\n${code}` : code);
  }
}
