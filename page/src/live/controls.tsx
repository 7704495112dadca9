// What the head of the page has: how the daemon is, and what may be changed about it.

import { useState } from "preact/hooks";
import { Dialog } from "../parts/dialog";
import { gib } from "../parts/gpu";
import { number, percent, time } from "../parts/words";
import { send } from "./api";
import { clock } from "./clock";
import { useAction, usePage } from "./context";
import { SubmitForm } from "./submit";

export function Head() {
  const { state, acts, operates } = usePage();
  const [busy, act] = useAction();
  const [open, set_open] = useState<"submit" | "scheduler" | null>(null);
  const { status, session } = state;
  const paused = status?.paused ?? false;
  return (
    <header class="head">
      <h1>Cleave</h1>
      {status !== null && (
        <p class="weak">
          {number(status.gpus)} {status.simulated ? "simulated " : ""}GPU{status.gpus === 1 ? "" : "s"} · <code>{status.scheduler}</code> · version {status.version}
          {session !== null && <> · {session.user}{session.scope === "view" ? ", may look only" : ""}</>}
        </p>
      )}
      <Connected />
      <div class="tools">
        {acts && <button type="button" class="primary" onClick={() => set_open("submit")}>Submit a job</button>}
        {acts && operates && (
          <>
            <button
              type="button" disabled={busy} aria-pressed={paused} title="While it is paused no job is started"
              onClick={() => act(async () => {
                await send("POST", paused ? "/v1/resume" : "/v1/pause");
                return paused ? "Jobs are started again" : "No job is started until you resume";
              })}
            >
              {paused ? "Resume" : "Pause"}
            </button>
            <button type="button" onClick={() => set_open("scheduler")}>Scheduler…</button>
          </>
        )}
        {operates && <Users />}
      </div>
      {open === "submit" && <SubmitForm close={() => set_open(null)} />}
      {open === "scheduler" && <Scheduler close={() => set_open(null)} />}
    </header>
  );
}

/** Whether what is shown is how it is. */
function Connected() {
  const { state: { connection } } = usePage();
  const words = { live: "live", connecting: "connecting", lost: "not connected", locked: "no session" }[connection.is];
  return <span class={`connected ${connection.is}`}><span class="dot" aria-hidden="true" /> {words}</span>;
}

function Users() {
  const { live } = usePage();
  const [all, set_all] = useState(live.shows_all_users);
  return (
    <label class="line">
      <input type="checkbox" checked={all} onChange={(event) => { set_all(event.currentTarget.checked); live.show_all_users(event.currentTarget.checked); }} /> jobs of all users
    </label>
  );
}

const schedulers = ["adaptive", "online", "full-gpu", "miso", "scheme-a", "scheme-b", "dyna-p"];

function Scheduler({ close }: { close: () => void }) {
  const { state } = usePage();
  const [busy, act] = useAction();
  const [text, set_text] = useState(state.status?.scheduler ?? "");
  const change = async (event: SubmitEvent) => {
    event.preventDefault();
    const done = await act(async () => {
      const { scheduler } = await send<{ scheduler: string }>("PUT", "/v1/scheduler", { scheduler: text.trim() });
      return `The scheduler is ${scheduler}`;
    });
    if (done) close();
  };
  return (
    <Dialog title="Change the scheduler" close={close}>
      <form onSubmit={change}>
        <label class="field">
          Scheduler
          <input value={text} required list="schedulers" spellcheck={false} onInput={(event) => set_text(event.currentTarget.value)} />
          <small>With options: <code>online:policy=first-fit</code>. <code>cleave schedulers</code> lists all.</small>
        </label>
        <datalist id="schedulers">{schedulers.map((name) => <option key={name} value={name} />)}</datalist>
        <p class="weak">What runs goes on; the jobs that wait are looked at anew.</p>
        <div class="tools"><button type="submit" class="primary" disabled={busy}>Change</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Dialog>
  );
}

/** What is not as it should be: of the connection, the daemon, the session. */
export function Banners() {
  const { live, state: { connection, status, session, restarted_at } } = usePage();
  const left_s = session === null ? Infinity : (Date.parse(session.expires_at) - Date.now()) / 1000;
  return (
    <div class="banners" role="status" aria-live="polite">
      {connection.is === "lost" && (
        <p class="banner bad">
          The connection to the daemon is lost since {clock(connection.since)}. What you see is how it was then; the page tries again by itself.{" "}
          <button type="button" onClick={() => live.try_now()}>Try now</button>
        </p>
      )}
      {connection.is === "live" && restarted_at !== null && Date.now() - restarted_at < 60_000 && (
        <p class="banner">The daemon was started anew, and is followed again since {clock(restarted_at)}.</p>
      )}
      {connection.is !== "locked" && left_s < 600 && (
        <p class="banner">This session ends in {time(Math.max(left_s, 0))}; <code>cleave page</code> prints a new address.</p>
      )}
      {status?.paused && <p class="banner">Paused: no job is started.</p>}
      {status?.troubles.map((text) => <p key={text} class="banner bad">{text}</p>)}
    </div>
  );
}

export function Locked({ told }: { told: string }) {
  return (
    <main id="content" class="locked">
      <h1>Cleave</h1>
      <h2>No session</h2>
      <p role="alert">{told}</p>
      <p>This page needs an address with a token, which belongs to you and expires. On the daemon's machine:</p>
      <pre><code>cleave page</code></pre>
      <p>Open the address that it prints. If you had a session here, it has expired or was ended.</p>
    </main>
  );
}

/** The state in six figures. */
export function Summary() {
  const { state } = usePage();
  const now = state.samples.at(-1), status = state.status;
  if (now === undefined || status === null) return null;
  const memory = [...state.pieces.values()].flat().filter((piece) => piece.kind === "job");
  const used = memory.reduce((sum, piece) => sum + (piece.used_mib ?? 0), 0);
  const figures: [string, string, string][] = [
    ["running", number(now.running), ""],
    ["waiting", number(now.waiting), ""],
    ["slices held", percent(now.compute), "of the compute slices, by jobs"],
    ["memory in use", gib(used), now.used === null ? "" : `${percent(now.used)} of what jobs hold`],
    ["fragmentation", percent(now.fragmentation), "of what would fit by size does not fit by position"],
    ["power", now.power_w === null ? "-" : `${number(Math.round(now.power_w))} W`, "of all GPUs"],
  ];
  return (
    <dl class="summary" aria-label="The state in short">
      {figures.map(([word, value, more]) => <div key={word}><dt>{word}</dt><dd>{value}{more !== "" && <small>{more}</small>}</dd></div>)}
    </dl>
  );
}
