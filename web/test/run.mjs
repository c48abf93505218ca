/** Bundles every *.test.ts under this folder and runs it with node's own test runner. */
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../.test", import.meta.url));
rmSync(out, { recursive: true, force: true });
const tests = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: tests.map((name) => folder + name),
  outdir: out,
  outbase: folder,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  outExtension: { ".js": ".mjs" },
  loader: { ".css": "empty" },
  logLevel: "warning",
});
const ran = spawnSync(process.execPath, ["--test", ...tests.map((name) => `${out}/${name.replace(/\.ts$/, ".mjs")}`)], {
  stdio: "inherit",
});
process.exit(ran.status ?? 1);
