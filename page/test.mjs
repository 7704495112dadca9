// Runs test/*.test.ts with Node's own runner, bundled into a folder outside of the sources.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const made = mkdtempSync(join(tmpdir(), "cleave-page-"));
const tests = readdirSync(join(here, "test")).filter((file) => file.endsWith(".test.ts"));
await build({
  absWorkingDir: here,
  entryPoints: tests.map((file) => `test/${file}`),
  bundle: true,
  platform: "node",
  format: "esm",
  outdir: made,
  outExtension: { ".js": ".mjs" },
});
const bundles = tests.map((file) => join(made, file.replace(".ts", ".mjs")));
const run = spawnSync(process.execPath, ["--test", ...bundles], { stdio: "inherit" });
rmSync(made, { recursive: true });
process.exit(run.status ?? 1);
