// Draws the live page as docs/page-view.md shows it: `tools/draw-live.sh FOLDER`. The jobs are
// simulated trainings on simulated GPUs.

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Daemon, leave_root, open_browser, open_tab, sleep } from "./test/stand.mjs";

const folder = resolve(process.env["CLEAVE_REPOSITORY"] ?? ".", process.argv[2] ?? "build/pictures");
mkdirSync(folder, { recursive: true });
leave_root();

const named = ["resnet50", "bert-large", "llama-lora", "vit-b16", "whisper", "gnn", "unet", "diffusion", "t5-small", "tabular"];

/** A training that holds so much memory for so long. */
const training = (gib, seconds) => ["cleave-job", "--memory", `${gib}GiB`, "--seconds", String(seconds), "--iterations", "60"];

async function settled(daemon, ids) {
  for (const id of ids)
    for (let i = 0; i < 300; ++i) {
      const { state } = await daemon.get(`/v1/jobs/${id}`);
      if (state === "running") break;
      await sleep(50);
    }
}

async function picture(browser, daemon, file, scheme, prepare, height = 760) {
  const { tab, context } = await open_tab(browser, await daemon.page(), { scheme, width: 1280, height });
  await tab.locator(".connected.live").waitFor();
  await prepare(tab);
  await tab.screenshot({ path: join(folder, file) });
  await context.close();
}

async function node(browser) {
  const daemon = new Daemon({ gpus: "4xA100-40GB", config: 'scheduler = "adaptive"\n' });
  await daemon.start();
  const sizes = [18, 3, 9, 4, 2, 9, 18, 4, 3, 9, 4, 2, 18, 9, 36, 18];
  for (const [i, gib] of sizes.entries()) {
    await daemon.submit(training(gib * 0.8, i % 5 === 0 ? 15 : 120 + 20 * i), { name: named[i % named.length], memory_mib: gib * 1024, progress: i % 3 === 0 ? "checkpoint" : "none", ...(i % 3 === 0 ? { checkpoint_signal: 28, checkpoint_grace_s: 5 } : {}) });
    await sleep(700);
  }
  const grows = "cleave-job --base 2GiB --per-iteration 200MiB --iterations 40 --phases cpu=12 --quiet".split(" ");
  await daemon.submit(grows, { name: "grows", restartable: true });
  await sleep(24_000);
  for (const [scheme, file] of [["light", "live.png"], ["dark", "live-dark.png"]])
    await picture(browser, daemon, file, scheme, () => sleep(2500));
  await picture(browser, daemon, "live-time.png", "light", async (tab) => {
    await sleep(14_000);
    await tab.getByRole("heading", { name: "Over time" }).evaluate((element) => element.scrollIntoView());
    await tab.evaluate(() => scrollBy(0, -60));
    await sleep(500);
  });
  await picture(browser, daemon, "live-job.png", "light", async (tab) => {
    await tab.getByRole("button", { name: /grows/ }).first().click();
    await sleep(1500);
  });
  await daemon.end();
}

async function fleet(browser) {
  const daemon = new Daemon({ gpus: "64xA100-40GB", config: 'scheduler = "online"\nmost_waiting_per_user = 1000\n', port: 20001 });
  await daemon.start();
  const profiles = ["1g.5gb", "2g.10gb", "3g.20gb", "1g.5gb", "7g.40gb", "2g.10gb", "1g.5gb", "4g.20gb"];
  const ids = [];
  for (let i = 0; i < 130; ++i)
    ids.push(await daemon.submit(["sleep", String(i % 7 === 0 ? 10 : 600)], { name: named[i % named.length], profile: profiles[i % profiles.length] }));
  await settled(daemon, ids.slice(-5));
  await sleep(12_000);
  await picture(browser, daemon, "live-fleet.png", "light", () => sleep(2500));
  await daemon.end();
}

async function plan(browser) {
  const daemon = new Daemon({ gpus: "4xA100-40GB", config: 'scheduler = "online:migration=off"\n', port: 20002 });
  await daemon.start();
  const ids = [];
  for (let i = 0; i < 12; ++i)
    ids.push(await daemon.submit(["sleep", "600"], { name: named[i % named.length], profile: i < 6 ? "3g.20gb" : "2g.10gb", movable: true }));
  await settled(daemon, ids);
  for (const id of ids.filter((_, i) => i % 2 === 0 || i === 11)) daemon.cleave("cancel", String(id));
  await sleep(1500);
  const file = join(daemon.folder, "plan.json");
  daemon.cleave("plan", "compact", "--live", "-o", file);
  await picture(browser, daemon, "live-plan.png", "light", async (tab) => {
    await tab.getByRole("button", { name: "From a file" }).click();
    await tab.getByLabel("Plan", { exact: true }).setInputFiles(file);
    await tab.getByRole("article", { name: "Preview" }).waitFor();
    await tab.getByRole("button", { name: "From a file" }).click();
    await tab.locator(".notice .close").click();
    await tab.getByRole("heading", { name: "Plans" }).evaluate((element) => element.scrollIntoView());
    await tab.evaluate(() => scrollBy(0, -60));
    await sleep(500);
  }, 620);
  await daemon.end();
}

const browser = await open_browser();
const scenes = { node, fleet, plan };
try {
  for (const name of process.argv.slice(3).length > 0 ? process.argv.slice(3) : Object.keys(scenes)) await scenes[name](browser);
} finally {
  await browser.close();
}
process.exit(0);
