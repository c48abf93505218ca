/** Writes a page with the fixture into a folder: node dev/build.mjs FOLDER, then open FOLDER/index.html. */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = process.argv[2];
if (folder === undefined) throw new Error("name the folder to write to: node dev/build.mjs FOLDER");
await build({
  entryPoints: [fileURLToPath(new URL("page.tsx", import.meta.url))],
  outdir: folder,
  bundle: true,
  format: "iife",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
// The same policy as the real pages: what it forbids must not be needed. "unsafe-inline" and eval are not allowed.
const policy = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:";
await writeFile(
  `${folder}/index.html`,
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}"><title>fixture</title><link rel="stylesheet" href="page.css"><link rel="stylesheet" href="body.css">
<body><div id="headscope"></div><script src="page.js"></script></body></html>\n`,
);
await writeFile(`${folder}/body.css`, "body { margin: 0; }\n");
