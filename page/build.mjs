// Builds the page's own part of a report, built/report.html: one file with its script and its
// styles inside, and a content security policy that allows nothing else; and the live page, as
// built/live.html with a script and styles beside it, which the daemon serves. Cleave's programs
// are built from built/, so that they need no Node. `node build.mjs FOLDER` builds into another
// folder.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const at = (path) => new URL(path, here);

async function bundle(entry) {
  const made = await build({
    absWorkingDir: here.pathname,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    outdir: "built",
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "ascii",
  });
  const file = (end) => made.outputFiles.find((each) => each.path.endsWith(end))?.text ?? "";
  return { script: file(".js").trim(), style: file(".css").trim() };
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The licences of what is in the bundle. */
function licences() {
  return ["preact", "uplot"]
    .map((name) => {
      const about = JSON.parse(readFileSync(at(`node_modules/${name}/package.json`), "utf8"));
      const text = readFileSync(at(`node_modules/${name}/LICENSE`), "utf8").trim();
      return `${name} ${about.version}\n${text.replaceAll("--", "- -")}`;
    })
    .join("\n\n");
}

function page({ script, style }) {
  if (script.includes("</script") || script.includes("<!--")) throw new Error("the script ends itself");
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title><!--cleave:title--></title>
<!--
${licences()}
-->
<style>${style}</style>
</head>
<body>
<noscript>This report draws itself by a script, which this browser does not run.</noscript>
<main id="page"></main>
<script type="application/json" id="document"><!--cleave:document--></script>
<script>${script}</script>
</body>
</html>
`;
}

/** What built/ was built from: test.sh compares it with what is there. */
function sources() {
  const files = readdirSync(here, { recursive: true })
    .filter((file) => /^(src\/.*\.(ts|tsx|css|html)|build\.mjs|package-lock\.json)$/.test(file))
    .sort();
  return files
    .map((file) => `${createHash("sha256").update(readFileSync(at(file))).digest("hex")}  ${file}\n`)
    .join("");
}

const built = resolve(process.argv[2] ?? at("built").pathname);
writeFileSync(`${built}/report.html`, page(await bundle("src/report/main.tsx")));
const live = await bundle("src/live/main.tsx");
const frame = readFileSync(at("src/live/live.html"), "utf8");
writeFileSync(`${built}/live.html`, frame.replace("<!--licences-->", () => `<!--\n${licences()}\n-->`));
writeFileSync(`${built}/live.js`, `${live.script}\n`);
writeFileSync(`${built}/live.css`, `${live.style}\n`);
writeFileSync(`${built}/sources.sha256`, sources());
