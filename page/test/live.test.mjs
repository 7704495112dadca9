// The live page in a real browser, with a real daemon on simulated GPUs. Run by
// tests/page/page_test.cpp through `tools/page.sh --run test/live.test.mjs`; ends with 3 and a
// reason where the browser or the programs are missing.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Daemon, browser_path, daemon_is_there, leave_root, open_browser, open_tab, sleep } from "./stand.mjs";

for (const [there, what] of [[browser_path, "there is no Chromium"], [daemon_is_there, "cleaved is not built"]])
  if (!there) {
    console.error(`page: ${what}`);
    process.exit(3);
  }

const axe_source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Runs until it is cancelled. */
const long = ["sh", "-c", "echo it began; exec sleep 600"];
/** Its memory grows beyond what it has: it is restarted on a larger instance before. */
const growing = "cleave-job --base 2GiB --per-iteration 200MiB --iterations 40 --phases cpu=2 --quiet".split(" ");

leave_root();
let daemon, browser;
before(async () => {
  daemon = new Daemon({ config: 'scheduler = "online:migration=off"\n' });
  await daemon.start();
  browser = await open_browser();
});
after(async () => {
  await browser?.close();
  await daemon?.end();
});

/** A page of the daemon; at its end nothing may have complained, and nothing have left. */
async function on_page(body, { scope = "act", own_words = [], ...options } = {}) {
  const opened = await open_tab(browser, await daemon.page(scope), options);
  opened.tab.setDefaultTimeout(20_000);
  await opened.tab.waitForSelector(".connected.live");
  await body(opened.tab, opened);
  const origin = new URL(opened.tab.url()).origin;
  assert.deepEqual(opened.requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:")), []);
  assert.deepEqual(opened.complaints.filter((text) => !own_words.some((known) => text.includes(known))), []);
  await opened.context.close();
}

/** What axe finds that is serious or critical. */
async function scan(tab) {
  await tab.evaluate(axe_source);
  const { violations, passes } = await tab.evaluate(() => globalThis.axe.run(document));
  assert(passes.length > 15, "axe has looked at little");
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
}

async function cancel_all() {
  for (const { id } of (await daemon.get("/v1/jobs?user=all")).jobs) daemon.cleave("cancel", String(id));
  for (let i = 0; i < 400 && (await daemon.get("/v1/jobs?user=all")).jobs.length > 0; ++i) await sleep(50);
}

test("the token is gone from the address, and the page paints within a second", () => on_page(async (tab) => {
  assert.equal(new URL(tab.url()).hash, "");
  const paints = await tab.evaluate(() => performance.getEntriesByType("paint").map(({ name, startTime }) => [name, startTime]));
  const first = Object.fromEntries(paints)["first-contentful-paint"];
  console.log(`first paint after ${Math.round(first)} ms`);
  assert(first < 1000);
}));

test("a job is submitted, its slices light up, and it is cancelled", () => on_page(async (tab) => {
  await tab.getByRole("button", { name: "Submit a job" }).click();
  const form = tab.getByRole("dialog");
  await form.getByLabel("Command").fill("echo hello; exec sleep 600");
  await form.getByLabel("Name", { exact: true }).fill("shines");
  await form.getByLabel("by memory").check();
  await form.getByLabel("Memory in GiB").fill("9");
  await form.getByRole("button", { name: "Submit" }).click();
  const piece = tab.locator(".piece.job", { hasText: "shines" });
  await piece.first().waitFor();
  const [job] = (await daemon.get("/v1/jobs")).jobs;
  assert.equal(job.name, "shines");
  assert.equal(await piece.getAttribute("data-job"), String(job.id));
  const pane = tab.getByRole("complementary");
  await pane.getByText("hello", { exact: true }).waitFor();
  await pane.getByRole("button", { name: "Cancel…" }).click();
  await pane.getByRole("button", { name: `Cancel job ${job.id}` }).click();
  await tab.locator(".piece.job").waitFor({ state: "detached" });
  await tab.getByRole("region", { name: /Ended/ }).getByText("cancelled").first().waitFor();
  await tab.keyboard.press("Escape");
}));

test("a restart before memory runs out is shown", () => on_page(async (tab) => {
  const id = await daemon.submit(growing, { name: "grows", restartable: true });
  await tab.getByRole("button", { name: `${id} grows` }).first().click();
  const pane = tab.getByRole("complementary");
  await pane.getByText("early restart").waitFor();
  await pane.getByText("its memory would have run out").first().waitFor();
  await tab.getByText("before its memory ran out").first().waitFor({ state: "attached" });
  await pane.getByText("finished").first().waitFor({ timeout: 40_000 });
}));

test("names are text, whatever they say", () => on_page(async (tab) => {
  let asked = 0;
  tab.on("dialog", (dialog) => { ++asked; void dialog.dismiss(); });
  for (const name of ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)"])
    await daemon.submit(long, { name });
  await tab.getByRole("button", { name: "<script>alert(1)</script>" }).click();
  await tab.getByRole("complementary").getByText("it began", { exact: true }).waitFor();
  assert.equal(await tab.title(), "Cleave");
  assert.equal(await tab.locator("img").count(), 0);
  assert.equal(asked, 0);
  await cancel_all();
}));

test("the daemon is killed and started anew, and the page goes on without a reload", () => on_page(async (tab) => {
  const id = await daemon.submit(long, { name: "survives" });
  await tab.locator(".piece.job").waitFor();
  await tab.evaluate(() => { globalThis.not_loaded_again = true; });
  await daemon.kill();
  await tab.getByText("connection to the daemon is lost").waitFor();
  assert.equal(await tab.locator(".connected.lost").count(), 1);
  await daemon.start();
  await tab.locator(".connected.live").waitFor();
  await tab.getByText("started anew").waitFor();
  await tab.getByRole("button", { name: `${id} survives` }).first().waitFor();
  const later = await daemon.submit(long, { name: "later" });
  await tab.getByRole("button", { name: `${later} later` }).first().waitFor();
  assert.equal(await tab.evaluate(() => globalThis.not_loaded_again), true);
  await cancel_all();
}, { own_words: ["Failed to load resource", "ERR_"] }));

/** Movable jobs of which each has half of a GPU, where a GPU could have two. */
async function scattered() {
  const ids = [], where = new Map();
  for (let i = 0; i < 4; ++i) ids.push(await daemon.submit(long, { name: `part-${i}`, profile: "3g.20gb", movable: true }));
  for (const id of ids)
    for (let i = 0; i < 200 && !where.has(id); ++i) {
      const job = await daemon.get(`/v1/jobs/${id}`);
      if (job.state === "running") where.set(id, job.instance.gpu);
      else await sleep(50);
    }
  const kept = [...new Map([...where].map(([id, gpu]) => [gpu, id])).values()];
  for (const id of ids) if (!kept.includes(id)) daemon.cleave("cancel", String(id));
  for (let i = 0; i < 200 && (await daemon.get("/v1/jobs")).jobs.length > 2; ++i) await sleep(50);
}

/** What is shown says what it does; carried out, it is done. */
async function carried_out(tab, number) {
  const preview = tab.getByRole("article", { name: "Preview" });
  await preview.getByText(/1 move in 1 wave. Frees GPU \d/).waitFor();
  assert.equal(await preview.locator("path.trip").count(), 1);
  assert.equal((await daemon.get("/v1/plans")).plans.length, number - 1, "only shown");
  await preview.getByRole("button", { name: "Carry it out" }).click();
  await tab.getByText(new RegExp(`Plan ${number}: compact, finished, 1 of 1 moves done`)).waitFor();
}

test("a compaction from a file is previewed and carried out", () => on_page(async (tab) => {
  await scattered();
  const file = join(daemon.folder, "plan.json");
  daemon.cleave("plan", "compact", "--live", "-o", file);
  await tab.getByRole("button", { name: "From a file" }).click();
  await tab.getByLabel("Plan", { exact: true }).setInputFiles(file);
  await carried_out(tab, 1);
  const wrong = join(daemon.folder, "wrong.json");
  writeFileSync(wrong, '{"kind":"compact","moves":[{}]}');
  await tab.getByLabel("Plan", { exact: true }).setInputFiles(wrong);
  await tab.getByText("has no job, wave, from or to").waitFor();
  await cancel_all();
}));

test("a compaction that the daemon plans is previewed and carried out", () => on_page(async (tab) => {
  await scattered();
  await tab.getByRole("button", { name: "Preview a compaction" }).click();
  await carried_out(tab, 2);
  await tab.getByRole("button", { name: "Preview a compaction" }).click();
  await tab.getByText("No job needs to be moved, or none allows it").waitFor();
  await cancel_all();
}));

test("operators drain, pause and change the scheduler", () => on_page(async (tab) => {
  await tab.getByRole("button", { name: "drain GPU 0" }).click();
  await tab.getByRole("article", { name: "GPU 0" }).getByText("drained").waitFor();
  await tab.getByRole("button", { name: "undrain GPU 0" }).click();
  await tab.getByRole("button", { name: "drain GPU 0", exact: true }).waitFor();
  await tab.getByRole("button", { name: "Pause" }).click();
  await tab.getByText("Paused: no job is started.").waitFor();
  const id = await daemon.submit(long, { name: "waits" });
  await tab.getByRole("region", { name: /Waiting/ }).getByText(`${id} waits`).first().waitFor();
  await tab.getByRole("button", { name: "Resume" }).click();
  await tab.locator(".piece.job", { hasText: `${id}` }).first().waitFor();
  await tab.getByRole("button", { name: "Scheduler…" }).click();
  await tab.getByRole("dialog").getByLabel("Scheduler").fill("no-such");
  await tab.getByRole("dialog").getByRole("button", { name: "Change" }).click();
  await tab.locator(".notice.bad").waitFor();
  await tab.getByRole("dialog").getByLabel("Scheduler").fill("adaptive");
  await tab.getByRole("dialog").getByRole("button", { name: "Change" }).click();
  await tab.locator(".notice", { hasText: "The scheduler is adaptive" }).waitFor();
  await cancel_all();
}, { own_words: ["the server responded with a status of 4"] }));

test("a session that may only look has nothing to press", () => on_page(async (tab) => {
  await tab.getByText("may look only").waitFor();
  assert.equal(await tab.getByRole("button", { name: /Submit|Pause|Scheduler|[Dd]rain/ }).count(), 0);
}, { scope: "view" }));

test("an expired session says how to get another", () => on_page(async (tab) => {
  daemon.end_sessions();
  await daemon.submit(["true"]);
  await tab.getByText("cleave page", { exact: true }).waitFor();
  assert.equal(await tab.getByRole("heading", { name: "No session" }).count(), 1);
  await tab.goto(await daemon.page());
  await tab.waitForSelector(".connected.live");
  await tab.goto(`${tab.url()}#token=used-up`);
  await tab.waitForSelector(".connected.live");
}, { own_words: ["status of 401"] }));

/** The status of a request with these headers, as a program sends it. */
function status_of(path, headers) {
  return new Promise((done, failed) => {
    const { hostname, port } = new URL(`http://${daemon.address}`);
    http.request({ hostname, port, path, headers }, (answer) => { answer.resume(); done(answer.statusCode); }).on("error", failed).end();
  });
}

test("another site's page changes and reads nothing through this browser", async (all) => {
  if (!daemon.own_page) return all.skip("the daemon has no page of its own");
  const foreign = http.createServer((_, answer) => {
    answer.writeHead(200, { "Content-Type": "text/html" });
    answer.end("<title>elsewhere</title>");
  });
  await new Promise((done) => foreign.listen(0, "127.0.0.1", done));
  // Another port is the same site for cookies, so that only Origin stands in its way.
  await on_page(async (tab, { context }) => {
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${foreign.address().port}/`);
    const tried = await other.evaluate(async (page) => {
      const all = [];
      for (const [path, options] of [
        ["/v1/pause", { method: "POST", mode: "no-cors" }], ["/v1/pause", { method: "POST", headers: { "X-Cleave-Page": "1" } }],
        ["/v1/jobs", {}], ["/v1/status", { mode: "no-cors" }],
      ])
        all.push(await fetch(`http://${page}${path}`, { credentials: "include", ...options }).then((answer) => answer.status, () => "refused"));
      const form = document.createElement("form");
      form.method = "POST";
      form.action = `http://${page}/v1/pause`;
      form.target = "_blank";
      document.body.append(form);
      form.submit();
      return all;
    }, daemon.address);
    await sleep(500);
    assert(tried.every((status) => status === "refused" || status === 0), String(tried));
    assert.equal((await daemon.get("/v1/status")).paused, false);
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
    const proof = await tab.evaluate(() => localStorage.getItem("cleave-proof"));
    const known = { Cookie: cookie, Host: daemon.address, "X-Cleave-Page": proof };
    assert.equal(await status_of("/v1/status", { ...known, "X-Cleave-Page": "1" }), 401, "what another port's server is sent");
    assert.equal(await status_of("/v1/status", known), 200);
    assert.equal(await status_of("/v1/status", { ...known, Host: "evil.example:80" }), 421, "a name that was made to lead here");
    assert.equal(await status_of("/v1/status", { ...known, Origin: "http://evil.example" }), 403);
    assert.equal(await status_of("/v1/status", { Host: daemon.address }), 401);
  });
  foreign.close();
});

for (const scheme of ["light", "dark"])
  test(`nothing serious stands in the way of anyone, ${scheme}`, () => on_page(async (tab) => {
    const id = await daemon.submit(long, { name: "seen", memory_mib: 9000 });
    for (let i = 0; i < 3; ++i) await daemon.submit(long, { name: `whole-${i}`, profile: "7g.40gb" });
    await tab.getByRole("button", { name: `${id} seen` }).first().click();
    await tab.getByRole("complementary").getByText("it began", { exact: true }).waitFor();
    for (const summary of await tab.locator("summary").all()) await summary.click();
    await sleep(500);
    assert.deepEqual(await scan(tab), []);
    await tab.keyboard.press("Escape");
    await tab.getByRole("button", { name: "Submit a job" }).click();
    assert.deepEqual(await scan(tab), []);
    await cancel_all();
  }, { scheme }));

test("with the keyboard alone", () => on_page(async (tab) => {
  await tab.keyboard.press("Tab");
  assert.equal(await tab.evaluate(() => document.activeElement?.textContent), "Skip to the GPUs");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Enter");
  assert.equal(await tab.evaluate(() => document.activeElement?.id), "queue");
  const id = await daemon.submit(long, { name: "by-keys" });
  const button = tab.getByRole("button", { name: `${id} by-keys` }).first();
  await button.focus();
  await tab.keyboard.press("Enter");
  await tab.getByRole("complementary").waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("complementary").waitFor({ state: "detached" });
  assert.equal(await button.evaluate((element) => element === document.activeElement), true);
  await cancel_all();
}));

test("the page of a report is usable too", async () => {
  const file = join(daemon.folder, "report.html");
  daemon.cleave_alone("compare", "--fleet", "2xA100-40GB", "--generate", "lab-day", "--seeds", "2", "--schedulers", "full-gpu,adaptive", "--report", file);
  for (const scheme of ["light", "dark"]) {
    const { tab, context, complaints, requests } = await open_tab(browser, `file://${file}`, { scheme });
    await tab.getByRole("tab").first().waitFor();
    assert.deepEqual(complaints, []);
    assert.deepEqual(requests.filter((url) => !url.startsWith("file:")), []);
    assert.deepEqual(await scan(tab), []);
    await context.close();
  }
});
