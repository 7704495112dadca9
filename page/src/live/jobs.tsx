// Jobs: those that wait with their reasons, those that run with their memory, those that ended.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ListedJob } from "../api/types";
import { colour_of_job } from "../parts/colours";
import { gib, gib_of } from "../parts/gpu";
import { number } from "../parts/words";
import { usePage } from "./context";
import { most_listed } from "./live";
import { clock, from_now, since } from "./clock";
import { label_of } from "./recorder";

const most_rows = 25;

/** A job's name, which opens its pane. */
function JobName({ job }: { job: ListedJob }) {
  const { chosen, choose } = usePage();
  const label = label_of(job.id, job.name);
  return (
    <button type="button" class="job-name" aria-pressed={chosen === job.id} onClick={() => choose(chosen === job.id ? null : job.id)}>
      <span class="swatch" style={{ background: job.ended_at === null && job.state !== "queued" ? colour_of_job(label) : "transparent" }} />
      {" "}{label}
    </button>
  );
}

interface TableProps {
  id: string;
  title: string;
  jobs: ListedJob[];
  none: string;
  /** How many there are, where not all are listed. */
  count?: number;
  columns: [heading: string, cell: (job: ListedJob) => ComponentChildren, place?: "words" | "short-words"][];
}

function JobTable({ id, title, jobs, none, columns, count = jobs.length }: TableProps) {
  const { live, chosen } = usePage();
  const [most, set_most] = useState(most_rows);
  const with_user = live.shows_all_users && new Set(jobs.map((job) => job.uid)).size > 1;
  const all: TableProps["columns"] = with_user ? [["user", (job) => job.user || job.uid, "short-words"], ...columns] : columns;
  return (
    <section aria-labelledby={id}>
      <h2 id={id} tabIndex={-1}>{title} <span class="count">{number(count)}</span></h2>
      {count > jobs.length && <p class="weak">The newest {number(jobs.length)} are listed.</p>}
      {jobs.length === 0 ? <p class="weak">{none}</p> : (
        <div class="wide" tabIndex={0} role="region" aria-labelledby={id}>
          <table class="jobs">
            <thead><tr><th scope="col">job</th>{all.map(([heading, , words = ""]) => <th key={heading} scope="col" class={words}>{heading}</th>)}</tr></thead>
            <tbody>
              {jobs.slice(0, most).map((job) => (
                <tr key={job.id} class={chosen === job.id ? "chosen" : ""}>
                  <th scope="row"><JobName job={job} /></th>
                  {all.map(([heading, cell, words = ""]) => <td key={heading} class={words}>{cell(job)}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {jobs.length > most && <button type="button" onClick={() => set_most(most + 500)}>{number(jobs.length - most)} more</button>}
    </section>
  );
}

/** First come, first served among those of a priority: as the daemon orders them. */
const by_turn = (a: ListedJob, b: ListedJob) => b.priority - a.priority || a.id - b.id;

export function Queue() {
  const { state } = usePage();
  const jobs = state.jobs.filter((job) => job.state === "queued").sort(by_turn);
  const columns: TableProps["columns"] = [
    ["asks for", (job) => job.asks_now],
    ["waits", (job) => since(job.submitted_at)],
    ["why", (job) => <>{job.reason}{job.reason === "" && <span class="weak">open it to see</span>}</>, "words"],
  ];
  if (jobs.some((job) => job.promised_at !== null))
    columns.splice(2, 0, ["expected", (job) => (job.promised_at === null ? "-" : from_now(Date.parse(job.promised_at)))]);
  if (jobs.some((job) => job.priority !== 0)) columns.splice(1, 0, ["priority", (job) => job.priority]);
  return (
    <JobTable id="queue" title="Waiting" jobs={jobs} columns={columns} count={jobs.length < most_listed ? jobs.length : Math.max(jobs.length, state.status?.jobs.queued ?? 0)}
      none={state.status?.paused ? "No job waits. The daemon is paused." : "No job waits."} />
  );
}

function Where({ job }: { job: ListedJob }) {
  const place = job.instance;
  if (place === null) return <>{job.kind === "service" ? `${job.up ?? 0} of ${job.replicas ?? 0} replicas` : "-"}</>;
  const more = job.places > 1 ? ` and ${job.places - 1} more` : "";
  return <>GPU {place.gpu_index}, {place.profile === "" ? "whole" : `${place.profile} at ${place.start}`}{more}</>;
}

/** Memory in use against the instance; a line at the most that the job reported. */
export function MemoryBar({ job }: { job: ListedJob }) {
  const { state } = usePage();
  const piece = job.instance === null ? undefined : state.pieces.get(job.instance.gpu)?.find((each) => each.jobs.includes(job.id));
  const total = piece?.total_mib ?? null, used = piece?.used_mib ?? job.memory_mib;
  if (total === null || used === null) return <>{job.memory_mib === null ? "-" : gib(job.memory_mib)}</>;
  const share = Math.min(used / total, 1), peak = job.memory_mib === null ? null : Math.min(job.memory_mib / total, 1);
  const words = `${gib(used)} of ${gib(total)}${job.memory_mib === null ? "" : `; most reported ${gib(job.memory_mib)}`}`;
  return (
    <span class="meter-line" title={words}>
      <svg class={`meter${share > 0.9 ? " full" : ""}`} viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={words}>
        <rect class="slot" width="100" height="10" />
        <rect class="level" width={share * 100} height="10" />
        {peak !== null && <rect class="peak" x={Math.max(peak * 100 - 1, 0)} width="1.5" height="10" />}
      </svg>
      <span>{gib_of(used, total)}</span>
    </span>
  );
}

/** What has become of a job on its way. */
export function Marks({ job }: { job: ListedJob }) {
  const marks: [sign: string, words: string][] = [];
  if (job.early_restarts > 0) marks.push(["↻", `restarted ${job.early_restarts === 1 ? "once" : `${job.early_restarts} times`} before its memory ran out`]);
  else if (job.attempts > 1) marks.push(["↻", `attempt ${job.attempts}`]);
  if (job.restarts > 0) marks.push(["⟳", `${job.restarts} replicas started again`]);
  if (job.progress === "checkpoint") marks.push(["⚑", "keeps its work by checkpoints"]);
  if (job.movable) marks.push(["⇄", "may be moved while it runs"]);
  if (job.ended_at === null && job.early_restarts > 0) marks.push(["↑", `asks for ${job.asks_now} now`]);
  return (
    <>
      {marks.map(([sign, words]) => <span key={sign} class="mark" title={words}><span aria-hidden="true">{sign}</span><span class="hidden">{words}</span></span>)}
    </>
  );
}

export function Running() {
  const { state } = usePage();
  const jobs = state.jobs.filter((job) => job.state !== "queued").sort((a, b) => a.id - b.id);
  return (
    <JobTable
      id="running" title="Running" jobs={jobs} none="Nothing runs."
      columns={[
        ["where", (job) => <Where job={job} />, "short-words"],
        ["memory", (job) => <MemoryBar job={job} />],
        ["for", (job) => since(job.started_at)],
        ["ends", (job) => job.expected_end_at === null ? "-" : <span title={`known by ${job.expected_by ?? ""}`}>{from_now(Date.parse(job.expected_end_at))}</span>],
        ["state", (job) => <>{job.state !== "running" && <span class="sign">{job.state}</span>}<Marks job={job} /></>, "short-words"],
      ]}
    />
  );
}

const end_sign: Record<string, string> = { finished: "✓", failed: "✗", cancelled: "⊘" };

export function Ended() {
  const { state } = usePage();
  return (
    <JobTable
      id="ended" title="Ended" jobs={state.ended} none="No job has ended yet."
      columns={[
        ["end", (job) => <span class={`end ${job.state}`}><span aria-hidden="true">{end_sign[job.state]}</span> {job.state}</span>, "short-words"],
        ["when", (job) => job.ended_at === null ? "-" : <span title={clock(Date.parse(job.ended_at))}>{from_now(Date.parse(job.ended_at))}</span>],
        ["why", (job) => <>{job.reason} <Marks job={job} /></>, "words"],
      ]}
    />
  );
}
