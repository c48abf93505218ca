/** Bundles every test/*.test.ts(x) and runs it with node's own test runner. */
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../.test", import.meta.url));
rmSync(out, { recursive: true, force: true });
const tests = readdirSync(folder).filter((name) => /\.test\.tsx?$/.test(name));
await build({
  entryPoints: tests.map((name) => folder + name),
  outdir: out,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  outExtension: { ".js": ".mjs" },
  loader: { ".css": "empty" },
  logLevel: "warning",
});
const ran = spawnSync(
  process.execPath,
  ["--test", ...tests.map((name) => `${out}/${name.replace(/\.tsx?$/, ".mjs")}`)],
  { stdio: "inherit" },
);
process.exit(ran.status ?? 1);
