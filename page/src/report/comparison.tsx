// Schedulers side by side: the medians over the seeds with their spread, and each against the first.

import { useState } from "preact/hooks";
import type { Comparison, Figure } from "./document";
import { colour_of_line } from "../parts/colours";
import { about_seeds, figure, number, words } from "../parts/words";

const overview = [
  "finished", "makespan_s", "wait_mean_s", "wait_p95_s", "turnaround_mean_s", "bounded_slowdown_p95",
  "compute_utilization", "fragmentation_mean", "energy_j", "creates", "disruptions_mean",
];

const value_of = (name: string, of: Figure | undefined) =>
  of === undefined || of.median === null ? "-" : figure(name, of.median);

/** The range in two lines, so that columns stay narrow. */
function Range({ name, of }: { name: string; of: Figure | undefined }) {
  if (of === undefined || of.median === null || of.low === undefined || of.high === undefined) return null;
  if (of.low === of.high) return null;
  return <small>{figure(name, of.low)} to<br />{figure(name, of.high)}</small>;
}

export function Comparing({ comparison }: { comparison: Comparison }) {
  const names = Object.keys(comparison.schedulers[0]?.figures ?? {});
  const [chosen, set_chosen] = useState(
    names.includes("turnaround_mean_s") ? "turnaround_mean_s" : (names[0] ?? ""),
  );
  const seeds = comparison.distinct_seeds;
  return (
    <section aria-labelledby="comparison">
      <h2 id="comparison">Schedulers side by side</h2>
      <p>
        {about_seeds(comparison.seeds.length, seeds)}
        {comparison.seeds.every((seed) => seed.same_jobs)
          ? ""
          : " The schedulers do not all finish the same jobs: times are over the jobs that all finish."}
      </p>
      <div class="wide" tabIndex={0}>
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">scheduler</th>
              {overview.filter((name) => names.includes(name)).map((name) => <th scope="col" key={name}>{words(name)}</th>)}
            </tr>
          </thead>
          <tbody>
            {comparison.schedulers.map((scheduler) => (
              <tr key={scheduler.scheduler}>
                <th scope="row">{scheduler.scheduler}</th>
                {overview.filter((name) => names.includes(name)).map((name) => (
                  <td key={name}>
                    {value_of(name, scheduler.figures[name])}
                    <Range name={name} of={scheduler.figures[name]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <label class="choice">
        Drawn:{" "}
        <select value={chosen} onChange={(event) => set_chosen(event.currentTarget.value)}>
          {names.map((name) => <option key={name} value={name}>{words(name)}</option>)}
        </select>
      </label>
      <Dots comparison={comparison} name={chosen} />
      {seeds > 1 && comparison.schedulers.length > 1 && <Against comparison={comparison} />}
    </section>
  );
}

/** A line a scheduler: a dot for the median, a bar for the spread, a tick for what none can beat. */
function Dots({ comparison, name }: { comparison: Comparison; name: string }) {
  const rows = comparison.schedulers.map((scheduler) => ({
    scheduler: scheduler.scheduler,
    of: scheduler.figures[name],
  }));
  const values = rows.flatMap(({ of }) =>
    [of?.median, of?.low, of?.high, of?.bound?.median].filter((value): value is number => typeof value === "number"),
  );
  const most = Math.max(...values, 1e-9);
  const left = 190, width = 760, row = 26, height = rows.length * row + 30;
  const x = (value: number) => left + (value / most) * (width - left - 90);
  const told = rows.map(({ scheduler, of }) => `${scheduler}: ${value_of(name, of)}`).join("; ");
  return (
    <div class="wide" tabIndex={0}><svg class="dots" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${words(name)}. ${told}.`}>
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={x(most * share)} x2={x(most * share)} y1={0} y2={height - 24} />
          <text class="weak" x={x(most * share)} y={height - 8} text-anchor="middle">{figure(name, most * share)}</text>
        </g>
      ))}
      {rows.map(({ scheduler, of }, i) => (
        <g key={scheduler} transform={`translate(0 ${i * row + 14})`}>
          <text x={left - 10} y={4} text-anchor="end">{scheduler.length > 28 ? `${scheduler.slice(0, 27)}…` : scheduler}</text>
          {of?.low !== undefined && of.high !== undefined && (
            <line x1={x(of.low)} x2={x(of.high)} y1={0} y2={0} stroke={colour_of_line(i)} stroke-width={5} stroke-opacity={0.35} />
          )}
          {of?.bound?.median != null && (
            <line class="bound" x1={x(of.bound.median)} x2={x(of.bound.median)} y1={-7} y2={7} />
          )}
          {of?.median != null && <circle cx={x(of.median)} cy={0} r={5} fill={colour_of_line(i)} />}
          {of?.median != null && <text class="weak" x={x(Math.max(of.median, of.high ?? 0)) + 10} y={4}>{figure(name, of.median)}</text>}
        </g>
      ))}
    </svg></div>
  );
}

function Against({ comparison }: { comparison: Comparison }) {
  const [first, ...others] = comparison.schedulers;
  const names = Object.keys(first?.figures ?? {}).filter((name) =>
    others.some(({ figures }) => (figures[name]?.lower ?? 0) + (figures[name]?.higher ?? 0) > 0),
  );
  return (
    <details>
      <summary>Each against {first?.scheduler}, seed by seed</summary>
      <p class="weak">{comparison.rule}.</p>
      {others.map((other) => (
        <div class="wide" tabIndex={0} key={other.scheduler}>
          <table class="figures">
            <caption>{other.scheduler} against {first?.scheduler}</caption>
            <thead>
              <tr>
                <th scope="col">figure</th><th scope="col">first</th><th scope="col">this</th>
                <th scope="col">ratio</th><th scope="col">lower / higher</th><th scope="col">beyond spread</th>
              </tr>
            </thead>
            <tbody>
              {names.map((name) => {
                const of = other.figures[name];
                if (of === undefined || (of.lower ?? 0) + (of.higher ?? 0) === 0) return null;
                const ratio = of.ratio;
                return (
                  <tr key={name}>
                    <th scope="row">{words(name)}</th>
                    <td>{value_of(name, first?.figures[name])}</td>
                    <td>{value_of(name, of)}</td>
                    <td>
                      {ratio?.median == null ? "-" : number(ratio.median)}
                      <small>{ratio?.low === undefined || ratio.high === undefined ? "" : `${number(ratio.low)} to ${number(ratio.high)}`}</small>
                    </td>
                    <td>{of.lower} / {of.higher}</td>
                    <td>{of.exceeds_spread == null ? "-" : of.exceeds_spread ? "yes" : "no"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ))}
    </details>
  );
}
