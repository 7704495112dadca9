// One job in full: why it is as it is, its attempts, its output, and how to end it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Attempt, Job } from "../api/types";
import { gib } from "../parts/gpu";
import { command_line, number, time } from "../parts/words";
import { Failed, get, request, send } from "./api";
import { clock, from_now } from "./clock";
import { useAction, usePage, words_of_failure } from "./context";
import { MemoryBar } from "./jobs";
import { label_of } from "./recorder";

export function JobPane({ id }: { id: number }) {
  const { state, choose } = usePage();
  const [job, set_job] = useState<Job | null>(null), [wrong, set_wrong] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus();
    return () => { if (before instanceof HTMLElement && before.isConnected) before.focus(); };
  }, []);
  useEffect(() => {
    let wanted = true;
    get<Job>(`/v1/jobs/${id}`).then(
      (answer) => { if (wanted) { set_job(answer); set_wrong(""); } },
      (error: unknown) => { if (wanted && error instanceof Failed && error.status === 404) set_wrong(words_of_failure(error)); },
    );
    return () => { wanted = false; };
  }, [id, state.looks]);
  return (
    <aside class="pane" aria-labelledby="pane-title" onKeyDown={(event) => { if (event.key === "Escape") choose(null); }}>
      <div class="dialog-head">
        <h2 id="pane-title" ref={heading} tabIndex={-1}>Job {job === null || job.id !== id ? id : label_of(job.id, job.name)}</h2>
        <button type="button" class="close" aria-label="Close the job" onClick={() => choose(null)}>&times;</button>
      </div>
      {wrong !== "" && <p role="alert">{wrong}</p>}
      {job !== null && job.id === id && <About job={job} />}
    </aside>
  );
}

function About({ job }: { job: Job }) {
  const { acts } = usePage();
  const over = job.ended_at !== null;
  const lines: [string, unknown][] = [
    ["asked for", job.asked], ["asks for now", job.asks_now === job.asked ? "" : job.asks_now], ["size", job.why_size],
    ["user", job.user || job.uid], ["priority", job.priority === 0 ? "" : job.priority],
    ["where", job.instance === null ? "" : `GPU ${job.instance.gpu_index}, ${job.instance.profile === "" ? "the whole GPU" : `${job.instance.profile} at ${job.instance.start}`}`],
    ["submitted", moment(job.submitted_at)], ["began", moment(job.started_at)], ["ended", moment(job.ended_at)],
    ["expected end", job.expected_end_at === null ? "" : `${moment(job.expected_end_at)} (known by ${job.expected_by ?? ""})`],
    ["expected place", moment(job.promised_at)], ["deadline", moment(job.deadline_at)],
    ["may run for", job.time_limit_s === null ? "" : time(job.time_limit_s)],
    ["keeps its work by", job.progress === "none" ? "" : job.progress],
    ["application", job.application], ["energy", job.energy_j === null ? "" : joules(job.energy_j)],
    ["exit code", job.exit_code],
  ];
  return (
    <>
      <p class="reason"><span class={`end ${job.state}`}>{job.state}</span> {job.reason}</p>
      {acts && !over && <Cancel job={job} />}
      <dl>
        {lines.filter(([, value]) => value !== null && value !== "").map(([word, value]) => <div key={word}><dt>{word}</dt><dd>{String(value)}</dd></div>)}
        {!over && job.instance !== null && <div><dt>memory</dt><dd><MemoryBar job={job} /></dd></div>}
        <div><dt>command</dt><dd><code>{command_line(job.command)}</code></dd></div>
        <div><dt>directory</dt><dd><code>{job.directory}</code></dd></div>
      </dl>
      <Attempts job={job} />
      {job.processes.length > 0 && (
        <details>
          <summary>{job.processes.length} processes</summary>
          <ul>{job.processes.map((each) => <li key={each.rank}>{each.rank}: {each.state}{each.why === "" ? "" : `, ${each.why}`}</li>)}</ul>
        </details>
      )}
      <Output job={job} />
    </>
  );
}

/** "91.7 J", "1.2 MJ" */
function joules(value: number): string {
  if (value < 1000) return `${number(value)} J`;
  return value < 1e6 ? `${number(value / 1000)} kJ` : `${number(value / 1e6)} MJ`;
}

const moment = (at: string | null) => (at === null ? "" : `${clock(Date.parse(at))}, ${from_now(Date.parse(at))}`);

function Cancel({ job }: { job: Job }) {
  const [busy, act] = useAction();
  const [asked, set_asked] = useState(false);
  const cancel = (now: boolean) => act(async () => {
    await send("POST", `/v1/jobs/${job.id}/cancel${now ? "?now=1" : ""}`);
    set_asked(false);
    return `Job ${job.id} is being cancelled`;
  });
  const stopping = job.state === "stopping";
  return (
    <div class="tools">
      {!asked && <button type="button" disabled={busy} onClick={() => set_asked(true)}>{stopping ? "Kill it now…" : "Cancel…"}</button>}
      {asked && (
        <>
          {!stopping && <button type="button" class="danger" disabled={busy} onClick={() => cancel(false)}>Cancel job {job.id}</button>}
          {job.state !== "queued" && <button type="button" class="danger" disabled={busy} onClick={() => cancel(true)}>Kill it at once</button>}
          <button type="button" onClick={() => set_asked(false)}>Let it be</button>
        </>
      )}
    </div>
  );
}

const sign_of_end: Record<string, string> = {
  "early-restart": "↻", "out-of-memory": "▲", moved: "⇄", "made-room": "⇄", cancelled: "⊘", lost: "✗", "time-limit": "⏱",
};

function Attempts({ job }: { job: Job }) {
  if (job.history.length === 0) return null;
  const lasted = (each: Attempt) => each.lasted_s !== null ? time(each.lasted_s)
    : each.ended_at === null && each.began_at !== null ? time((Date.now() - Date.parse(each.began_at)) / 1000) : "-";
  return (
    <>
      <h3>Attempts</h3>
      {job.history_left_out > 0 && <p class="weak">{job.history_left_out} older ones are not kept.</p>}
      <table>
        <thead><tr><th scope="col">attempt</th><th scope="col" class="words">where</th><th scope="col">took</th><th scope="col">most memory</th><th scope="col" class="words">end</th></tr></thead>
        <tbody>
          {job.history.map((each) => (
            <tr key={each.attempt}>
              <th scope="row">{each.attempt}</th>
              <td class="words">{each.instance === null ? "-" : `GPU ${each.instance.gpu_index}, ${each.instance.profile || "whole"} at ${each.instance.start}`}</td>
              <td>{lasted(each)}</td>
              <td>{each.peak_mib === null ? "-" : gib(each.peak_mib)}</td>
              <td class="words">{each.end === null ? "runs" : <><span aria-hidden="true">{sign_of_end[each.end] ?? ""}</span> {each.end.replaceAll("-", " ")}{each.why !== "" && <small>{each.why}</small>}</>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const tail_bytes = 32_768;

/** Without what a terminal would obey. */
const readable = (text: string) => text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[^\P{Cc}\n\t]/gu, "");

function Output({ job }: { job: Job }) {
  const [stream, set_stream] = useState<"stdout" | "stderr">("stdout");
  const [text, set_text] = useState(""), [wrong, set_wrong] = useState("");
  const place = useRef<HTMLPreElement>(null);
  useEffect(() => {
    let wanted = true, timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const answer = await request(`/v1/jobs/${job.id}/logs?stream=${stream}&offset=-${tail_bytes}`);
        const tail = readable(await answer.text());
        if (!wanted) return;
        set_wrong("");
        set_text(tail);
        if (answer.headers.get("Cleave-Over") === "true") return;
      } catch (error) {
        if (wanted) set_wrong(words_of_failure(error));
      }
      if (wanted) timer = setTimeout(ask, 2000);
    };
    void ask();
    return () => { wanted = false; clearTimeout(timer); };
  }, [job.id, stream, job.attempts]);
  useEffect(() => { if (place.current !== null) place.current.scrollTop = place.current.scrollHeight; }, [text]);
  return (
    <>
      <h3>Output</h3>
      <div class="tabs" role="group" aria-label="Which output">
        {(["stdout", "stderr"] as const).map((each) => (
          <button key={each} type="button" aria-pressed={stream === each} onClick={() => set_stream(each)}>{each}</button>
        ))}
      </div>
      {wrong !== "" && <p class="weak">{wrong}</p>}
      <pre class="output" ref={place} tabIndex={0} role="region" aria-label={`The end of its ${stream}`}>{text === "" ? "(nothing so far)" : text}</pre>
    </>
  );
}
