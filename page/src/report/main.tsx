// A report: what was asked and assumed, what came out, and how it went over time.

import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import "../page.css";
import { Chart, type ChartLine, time_steps } from "../parts/chart";
import { colour_of_line } from "../parts/colours";
import { Heat } from "../parts/heat";
import { share_within } from "../parts/shares";
import { Timeline } from "../parts/timeline";
import { command_line, number, percent, time } from "../parts/words";
import { Advised } from "./advice";
import { Comparing } from "./comparison";
import { Planned } from "./plan";
import { type Line, type Report, type Run, known_format } from "./document";

function Lines({ lines }: { lines: Line[] }) {
  return (
    <dl>
      {lines.map(([word, value]) => (
        <div key={word}><dt>{word}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}

function Asked({ report }: { report: Report }) {
  return (
    <section aria-labelledby="asked">
      <h2 id="asked">What was asked</h2>
      <Lines lines={report.asked} />
      <h3>To have it again</h3>
      <pre><code>{command_line(report.command)}</code></pre>
      {report.assumed.length > 0 && (
        <>
          <h3>What it rests on</h3>
          <ul>{report.assumed.map((text) => <li key={text}>{text}</li>)}</ul>
        </>
      )}
    </section>
  );
}

/** Over time, of one run. */
function OverTime({ run }: { run: Run }) {
  const series = run.recorded?.series;
  const charts = useMemo(() => {
    if (series === undefined) return null;
    const step = series.step_ms / 1000;
    const x = series.compute.map((_, i) => i * step);
    const line = (place: number, label: string, values: number[], words: ChartLine["words"], dash?: number[]): ChartLine =>
      ({ label, values, words, colour: colour_of_line(place), steps: true, ...(dash ? { dash } : {}) });
    return {
      x,
      use: [
        line(0, "compute held", series.compute, percent),
        line(1, "memory held", series.memory, percent, [6, 3]),
      ],
      queue: [line(1, "waiting", series.waiting, number), line(0, "running", series.running, number, [6, 3])],
      fragmentation: [line(3, "fragmentation", series.fragmentation, percent)],
      speed: [line(2, "work done", series.speed, number)],
      power: series.power_w === undefined ? null : [line(4, "power of jobs", series.power_w, (value) => `${number(value)} W`)],
    };
  }, [series]);
  if (charts === null) return null;
  const at = (seconds: number) => time(seconds);
  return (
    <div class="charts">
      <Chart title="Slices that jobs hold" x={charts.x} x_steps={time_steps} lines={charts.use} x_words={at} y_words={percent} range={[0, 1.02]} />
      <Chart title="Jobs" x={charts.x} x_steps={time_steps} lines={charts.queue} x_words={at} y_words={number} range={[0, null]} />
      <Chart title="Fragmentation: of what would fit by size, what does not fit by position" x={charts.x} x_steps={time_steps} lines={charts.fragmentation} x_words={at} y_words={percent} range={[0, Math.max(0.1, ...(series?.fragmentation ?? [])) * 1.05]} />
      <Chart title="Work done, where 1 is what all GPUs do whole" x={charts.x} x_steps={time_steps} lines={charts.speed} x_words={at} y_words={number} range={[0, null]} />
      {charts.power !== null && (
        <Chart title="Power of jobs, without idle GPUs" x={charts.x} x_steps={time_steps} lines={charts.power} x_words={at} y_words={(value) => `${number(value)} W`} range={[0, null]} />
      )}
    </div>
  );
}

function RunView({ run }: { run: Run }) {
  const recorded = run.recorded;
  const timeline = recorded?.timeline;
  const label = `${run.scheduler}, seed ${run.seed}`;
  return (
    <>
      {run.summary.length > 0 && <Lines lines={run.summary} />}
      {timeline !== undefined && recorded !== null && (
        <>
          <h3>Timeline</h3>
          {timeline.spans !== undefined
            ? <Timeline document={timeline} length={recorded.length_ms} label={label} />
            : <Heat document={timeline} label={label} />}
        </>
      )}
      {recorded?.series !== undefined && <h3>Over time</h3>}
      <OverTime run={run} />
      {run.users.length > 0 && (
        <>
          <h3>Users</h3>
          <table class="figures">
            <thead><tr><th scope="col">user</th><th scope="col">jobs</th><th scope="col">share of the slice seconds held</th></tr></thead>
            <tbody>
              {run.users.map((each) => (
                <tr key={each.user}><th scope="row">{each.user}</th><td>{number(each.jobs)}</td><td>{percent(each.share)}</td></tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </>
  );
}

function Runs({ runs }: { runs: Run[] }) {
  const drawn = runs.filter((run) => run.recorded !== null || run.summary.length > 0);
  const [chosen, set_chosen] = useState(0);
  const run = drawn[chosen];
  if (run === undefined) return null;
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">{drawn.length > 1 ? `How it went, with seed ${run.seed}` : "How it went"}</h2>
      {drawn.length > 1 && (
        <div class="tabs" role="tablist" aria-label="Scheduler">
          {drawn.map((each, i) => (
            <button
              key={each.scheduler} type="button" role="tab" aria-selected={i === chosen} tabIndex={i === chosen ? 0 : -1}
              onClick={() => set_chosen(i)}
              onKeyDown={(event) => {
                const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
                if (by === 0) return;
                const next = (chosen + by + drawn.length) % drawn.length;
                set_chosen(next);
                (event.currentTarget.parentElement?.children[next] as HTMLElement | undefined)?.focus();
              }}
            >
              {each.scheduler}
            </button>
          ))}
        </div>
      )}
      <RunView key={chosen} run={run} />
    </section>
  );
}

/** What share of jobs waits, takes, is slowed at most so much. */
function Distributions({ runs }: { runs: Run[] }) {
  const of = useMemo(() => {
    const all = [
      { key: "wait_s", title: "Time that jobs wait", words: time },
      { key: "turnaround_s", title: "Time from submission to end", words: time },
      { key: "slowdown", title: "Bounded slowdown", words: number },
    ] as const;
    return all.map(({ key, title, words }) => {
      const with_it = runs.filter((run) => run.distributions?.[key] !== undefined);
      const least = 1;
      const points = [...new Set(with_it.flatMap((run) => run.distributions?.[key] ?? []))]
        .map((value) => Math.max(value, least))
        .sort((a, b) => a - b)
        .filter((value, i, list) => i === 0 || value > (list[i - 1] ?? 0));
      const lines = with_it.map((run, i): ChartLine => ({
        label: run.scheduler,
        colour: colour_of_line(i),
        words: percent,
        steps: true,
        values: points.map((point) => share_within(run.distributions?.[key] ?? [], run.distributions?.shares ?? [], point)),
        ...(i % 2 === 1 ? { dash: [6, 3] } : {}),
      }));
      return { title, points, lines, words };
    });
  }, [runs]);
  const drawn = of.filter(({ points }) => points.length > 1);
  if (drawn.length === 0) return null;
  return (
    <section aria-labelledby="distributions">
      <h2 id="distributions">Distributions</h2>
      <p>The share of finished jobs that have at most so much, with seed {runs[0]?.seed}. What is below a second is drawn at one.</p>
      <div class="charts">
        {drawn.map(({ title, points, lines, words }) => (
          <Chart key={title} title={title} x={points} lines={lines} x_words={words} y_words={percent} range={[0, 1.02]} logarithmic />
        ))}
      </div>
    </section>
  );
}

function Page({ report }: { report: Report }) {
  return (
    <>
      <header>
        <h1>{report.title}</h1>
        <p class="weak">Cleave {report.version}</p>
      </header>
      {report.format !== known_format && <p role="alert">This page shows {known_format}; its document is {report.format}.</p>}
      <Asked report={report} />
      {report.comparison !== null && report.comparison.schedulers.length > 0 && <Comparing comparison={report.comparison} />}
      {report.plan !== null && <Planned plan={report.plan} />}
      {report.advice !== null && <Advised advice={report.advice} />}
      <Runs runs={report.runs} />
      <Distributions runs={report.runs} />
    </>
  );
}

const text = document.getElementById("document")?.textContent ?? "";
const place = document.getElementById("page");
if (place !== null) render(<Page report={JSON.parse(text) as Report} />, place);
