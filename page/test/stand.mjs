// What the tests of the live page stand on: a daemon on simulated GPUs, its page, and a browser.
// Where the daemon does not serve its page itself (no setting `page`), a server here does, with the
// same addresses and the same content security policy, and passes requests on to the socket.

import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:";

/** Where programs and the built page are: CLEAVE_BIN and CLEAVE_PAGE say otherwise. */
const root = process.env["CLEAVE_REPOSITORY"] ?? new URL("../..", import.meta.url).pathname;
const programs = process.env["CLEAVE_BIN"] ?? join(root, "build/release/bin");
const built = process.env["CLEAVE_PAGE"] ?? join(root, "page/built");
const environment = { ...process.env, PATH: `${programs}:${process.env["PATH"]}` };

/** Nobody's page is root's: as root all of this runs as another user, to whom a home is given. */
export function leave_root() {
  if (process.getuid() !== 0) return;
  const nobody = 65534;
  process.setgroups([]);
  process.setgid(nobody);
  process.setuid(nobody);
  environment.HOME = process.env["HOME"] = mkdtempSync(join(tmpdir(), "cleave-home-"));
  for (const name of Object.keys(environment)) if (name.startsWith("XDG_")) delete environment[name];
}

export const browser_path = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
export const daemon_is_there = existsSync(join(programs, "cleaved"));

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Asks over a unix socket. */
export function ask(socket, method, path, body) {
  return new Promise((done, failed) => {
    const asked = http.request({ socketPath: socket, method, path, headers: { Host: "localhost", "Content-Type": "application/json" } }, (answer) => {
      let text = "";
      answer.on("data", (piece) => (text += piece)).on("end", () => done({ status: answer.statusCode, text }));
    });
    asked.on("error", failed);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const serves_its_page = () =>
  spawnSync(join(programs, "cleaved"), ["--sample-config"], { encoding: "utf8" }).stdout.split("\n").some((line) => /^#? ?page\b/.test(line));

/** A daemon with its state, which may be killed and started again. */
export class Daemon {
  constructor({ gpus = "2xA100-40GB", config = 'scheduler = "online"\n', port = 20000 + (process.pid % 20000) } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "cleave-live-"));
    this.socket = join(this.folder, "cleaved.sock");
    this.gpus = gpus;
    this.own_page = serves_its_page();
    this.address = `127.0.0.1:${port}`;
    writeFileSync(join(this.folder, "cleaved.toml"), this.own_page ? `${config}page = "${this.address}"\n` : config);
  }

  async start() {
    const log = openSync(join(this.folder, "log"), "a");
    const words = ["--simulate", this.gpus, "--instant", "--state", join(this.folder, "state"), "--socket", this.socket, "--config", join(this.folder, "cleaved.toml")];
    this.process = spawn(join(programs, "cleaved"), words, { env: environment, stdio: ["ignore", log, log] });
    this.ended = new Promise((done) => this.process.once("exit", done));
    const daemon = this.process;
    process.once("exit", () => daemon.kill("SIGKILL"));
    for (let i = 0; i < 600; ++i) {
      try {
        const { text } = await ask(this.socket, "GET", "/healthz");
        if (JSON.parse(text).status !== "starting") return;
      } catch {
        if (this.process.exitCode !== null) break;
      }
      await sleep(50);
    }
    throw new Error(`the daemon did not start:\n${this.log()}`);
  }

  log() { return readFileSync(join(this.folder, "log"), "utf8"); }

  async kill() {
    this.process.kill("SIGKILL");
    await this.ended;
  }

  async stop() {
    const { text } = await ask(this.socket, "GET", "/v1/jobs").catch(() => ({ text: '{"jobs":[]}' }));
    for (const job of JSON.parse(text).jobs) await ask(this.socket, "POST", `/v1/jobs/${job.id}/cancel?now=1`);
    for (let i = 0; i < 60 && JSON.parse((await ask(this.socket, "GET", "/v1/jobs")).text).jobs.length > 0; ++i) await sleep(50);
    this.process.kill("SIGTERM");
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  get(path) { return ask(this.socket, "GET", path).then(({ text }) => JSON.parse(text)); }

  /** `cleave` with this daemon. */
  cleave(...words) { return this.cleave_alone(...words, "--socket", this.socket); }

  cleave_alone(...words) {
    const ran = spawnSync(join(programs, "cleave"), words, { env: environment, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`cleave ${words.join(" ")}: ${ran.stdout}${ran.stderr}`);
    return ran.stdout.trim();
  }

  async submit(command, more = {}) {
    const body = { command, directory: this.folder, environment: [`PATH=${environment.PATH}`], ...more };
    const { status, text } = await ask(this.socket, "POST", "/v1/jobs", body);
    if (status !== 201) throw new Error(text);
    return JSON.parse(text).id;
  }

  /** The address to open, with a token. */
  async page(scope = "act") {
    if (this.own_page) {
      return this.cleave("page", "--scope", scope);
    }
    this.server ??= await serve(this.socket);
    return this.server.address(scope);
  }

  /** Ends all sessions, as if their time were up. */
  end_sessions() {
    if (!this.own_page) return this.server.end_sessions();
    for (const { token } of JSON.parse(this.cleave("page", "--list", "--json")).tokens) this.cleave("page", "--revoke", String(token));
  }

  async end() {
    this.server?.close();
    await this.stop();
  }
}

const types = { "/": ["live.html", "text/html; charset=utf-8"], "/live.js": ["live.js", "text/javascript"], "/live.css": ["live.css", "text/css"] };

/** The page and the API of the daemon behind this socket, as it would serve them itself. */
export async function serve(socket, port = 0) {
  const tokens = new Map(), sessions = new Map();
  const plain = (answer, status, document, more = {}) => {
    answer.writeHead(status, { "Content-Type": "application/json", ...more });
    answer.end(JSON.stringify(document));
  };
  const refuse = (answer, status, message, remedy) => plain(answer, status, { error: { kind: "bad usage", place: "", message, remedy } });
  const session_of = (asked) => sessions.get(/cleave-session=(\w+)/.exec(asked.headers.cookie ?? "")?.[1]);
  const server = http.createServer((asked, answer) => {
    const path = asked.url.split("?")[0];
    const file = types[path];
    if (asked.method === "GET" && file !== undefined) {
      answer.writeHead(200, { "Content-Type": file[1], "Content-Security-Policy": policy, "Cache-Control": "no-store" });
      return answer.end(readFileSync(join(built, file[0])));
    }
    if (asked.method !== "GET" && asked.headers["x-cleave-page"] !== "1") return refuse(answer, 403, "this did not come from the page", "");
    const session = session_of(asked);
    if (path === "/session" && asked.method === "POST") {
      let text = "";
      asked.on("data", (piece) => (text += piece)).on("end", () => {
        const found = tokens.get(JSON.parse(text).token);
        if (found === undefined) return refuse(answer, 401, "the token is not known, or has expired", "`cleave page` prints an address with a new one");
        tokens.delete(JSON.parse(text).token);
        const cookie = randomBytes(16).toString("hex");
        sessions.set(cookie, found);
        plain(answer, 200, found, { "Set-Cookie": `cleave-session=${cookie}; HttpOnly; SameSite=Strict; Path=/` });
      });
      return undefined;
    }
    if (session === undefined) return refuse(answer, 401, "there is no session here", "`cleave page` prints an address with a token");
    if (path === "/session") return plain(answer, 200, session);
    if (session.scope === "view" && asked.method !== "GET") return refuse(answer, 403, "this session may look only", "");
    const passed = http.request({ socketPath: socket, method: asked.method, path: asked.url, headers: { ...asked.headers, host: "localhost" } }, (came) => {
      answer.writeHead(came.statusCode, came.headers);
      answer.flushHeaders();
      came.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
    return undefined;
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return {
    port: server.address().port,
    address(scope) {
      const token = randomBytes(16).toString("hex");
      const expires_at = new Date(Date.now() + 8 * 3600_000).toISOString();
      tokens.set(token, { user: userInfo().username, uid: process.getuid(), scope, operates: true, expires_at });
      return `http://127.0.0.1:${server.address().port}/#token=${token}`;
    },
    /** As if the time were up. */
    end_sessions() { sessions.clear(); },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A browser in which every complaint and every request is noted. */
export async function open_browser() {
  return chromium.launch({ executablePath: browser_path, args: ["--no-sandbox", "--disable-gpu"] });
}

export async function open_tab(browser, address, { scheme = "light", width = 1500, height = 1300 } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, reducedMotion: "reduce" });
  const tab = await context.newPage();
  const complaints = [], requests = [];
  tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  tab.on("pageerror", (error) => complaints.push(String(error)));
  tab.on("request", (asked) => requests.push(asked.url()));
  await tab.goto(address);
  return { tab, context, complaints, requests };
}
