/** Bundles src/main.ts into the Python package: headscope.js (an ES module) and headscope.css. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const outfile = here("../src/headscope/pages/assets/headscope.js");
const LIMIT = 210_000; // bytes of script and style together, minified

const options = {
  entryPoints: [here("src/main.ts")],
  outfile,
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: ["es2022"],
  charset: "ascii", // the file may be inlined in a page of any encoding
  legalComments: "none",
  banner: { js: "/* headscope (MIT); includes Preact (MIT, Jason Miller). */" },
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  await build(options);
  const sizes = await Promise.all(
    [outfile, outfile.replace(/js$/, "css")].map(async (file) => (await readFile(file)).length),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`headscope.js ${sizes[0]} bytes, headscope.css ${sizes[1]} bytes, together ${total} of ${LIMIT}`);
  if (total > LIMIT) throw new Error(`the bundle is larger than ${LIMIT} bytes`);
}
