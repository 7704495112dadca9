// What `cleave advise` says: the answer, the candidates with their spread, and what to measure.

import type { Advice, Candidate, Draw, Ratio } from "./document";
import { colour_of_line } from "../parts/colours";
import { number, percent, ratio_ticks, time } from "../parts/words";

/** The middle of the values, and what all but a twentieth at each end lie between. */
function spread(values: number[]) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => {
    const place = share * (sorted.length - 1), below = sorted[Math.floor(place)] ?? 0;
    return below + ((sorted[Math.ceil(place)] ?? below) - below) * (place - Math.floor(place));
  };
  return { median: at(0.5), low: at(0.05), high: at(0.95) };
}

const ratio_words = (ratio: Ratio | null | undefined) =>
  ratio == null ? "-" : `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)})`;

const name_of = (of: { scheduler: string; layout: string | null }) =>
  of.layout === null ? of.scheduler : `${of.layout}${of.scheduler.endsWith("backfill=easy") ? " with backfill" : ""}`;

/** The only fixed layout of a table, whose layout is said elsewhere. */
const short_name = (of: Candidate) =>
  of.layout === null ? of.scheduler : `best fixed layout${of.scheduler.endsWith("backfill=easy") ? " with backfill" : ""}`;

type Ran = Candidate & { draws: Draw[] };
const ran = (candidate: Candidate): candidate is Ran => candidate.draws !== undefined;

/** Quickest first, and last those that know the future. */
function in_order(candidates: Ran[]) {
  const median = (of: Ran) => spread(of.draws.map((draw) => draw.turnaround_mean_s)).median;
  return [...candidates].sort((a, b) =>
    Number(a.kind === "hindsight") - Number(b.kind === "hindsight") || median(a) - median(b));
}

function Spread({ values, words }: { values: number[]; words: (value: number) => string }) {
  const { median, low, high } = spread(values);
  return <td>{words(median)}{low === high ? null : <small>{words(low)} to<br />{words(high)}</small>}</td>;
}

function Rows({ candidates, caption, name }: { candidates: Ran[]; caption: string; name: (of: Ran) => string }) {
  return (
    <div class="wide" tabIndex={0}>
      <table class="figures">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">candidate</th><th scope="col">kind</th><th scope="col">mean turnaround</th>
            <th scope="col">over whole GPUs</th><th scope="col">shorter in</th><th scope="col">mean wait</th>
            <th scope="col">95 % slowdown</th><th scope="col">makespan</th>
          </tr>
        </thead>
        <tbody>
          {candidates.map((each) => (
            <tr key={name_of(each)}>
              <th scope="row">{name(each)}</th>
              <td>{each.kind}</td>
              <Spread values={each.draws.map((draw) => draw.turnaround_mean_s)} words={time} />
              <td>{ratio_words(each.over_whole_gpus)}</td>
              <td>{each.over_whole_gpus == null ? "-" : `${each.over_whole_gpus.shorter} of ${each.over_whole_gpus.draws}`}</td>
              <Spread values={each.draws.map((draw) => draw.wait_mean_s)} words={time} />
              <Spread values={each.draws.map((draw) => draw.slowdown_p95 ?? 0)} words={number} />
              <Spread values={each.draws.map((draw) => draw.makespan_s)} words={time} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A line a candidate: its times over those of whole GPUs, and where nine of ten draws lie. */
function Ratios({ candidates }: { candidates: Ran[] }) {
  const rows = candidates.flatMap((each) => each.over_whole_gpus == null ? [] : [{ name: short_name(each), of: each.over_whole_gpus }]);
  const most = Math.max(1.2, ...rows.map(({ of }) => of.high));
  const left = 260, right = 690, width = 760, row = 26, height = rows.length * row + 30;
  const x = (value: number) => left + (value / most) * (right - left);
  const told = rows.map(({ name, of }) => `${name}: ${ratio_words(of)}`).join("; ");
  return (
    <div class="wide" tabIndex={0}><svg class="dots" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Turnaround over that on whole GPUs. ${told}.`}>
      {ratio_ticks(most).map((value) => (
        <g key={value}>
          <line class={value === 1 ? "bound" : "grid"} x1={x(value)} x2={x(value)} y1={0} y2={height - 24} />
          <text class="weak" x={x(value)} y={height - 8} text-anchor="middle">{value}</text>
        </g>
      ))}
      {rows.map(({ name, of }, i) => (
        <g key={name} transform={`translate(0 ${i * row + 14})`}>
          <text x={left - 10} y={4} text-anchor="end">{name.length > 36 ? `${name.slice(0, 35)}…` : name}</text>
          <line x1={x(of.low)} x2={x(of.high)} y1={0} y2={0} stroke={colour_of_line(i)} stroke-width={5} stroke-opacity={0.35} />
          <circle cx={x(of.median)} cy={0} r={5} fill={colour_of_line(i)} />
          <text class="weak" x={width - 10} y={4} text-anchor="end">{of.median.toFixed(2)}</text>
        </g>
      ))}
    </svg></div>
  );
}

function Measure({ advice }: { advice: Advice }) {
  if (advice.unmeasured.length === 0) return <p>The speeds of all applications on slices are known.</p>;
  return (
    <div class="wide" tabIndex={0}>
      <table class="figures">
        <caption>Applications whose speed on slices nobody has measured, those first that move the answer most</caption>
        <thead>
          <tr>
            <th scope="col">application</th><th scope="col">jobs</th><th scope="col">GPU-hours</th>
            <th scope="col">share of GPU time</th><th scope="col">moves MIG over whole GPUs by</th><th scope="col">changes the answer</th>
          </tr>
        </thead>
        <tbody>
          {advice.unmeasured.map((each) => (
            <tr key={each.application}>
              <th scope="row">{each.application}</th><td>{number(each.jobs)}</td><td>{number(each.gpu_hours)}</td>
              <td>{percent(each.share)}</td><td>{each.moves == null ? "-" : each.moves.toFixed(2)}</td>
              <td>{each.changes_answer ? "yes" : "no"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Changes({ advice }: { advice: Advice }) {
  if (advice.changes.length === 0) return null;
  return (
    <div class="wide" tabIndex={0}>
      <table class="figures">
        <caption>With one thing changed</caption>
        <thead>
          <tr>
            <th scope="col">if</th><th scope="col">MIG over whole GPUs</th><th scope="col">best over best now</th>
            <th scope="col">advice then</th><th scope="col">changes the answer</th>
          </tr>
        </thead>
        <tbody>
          {advice.changes.map((each) => (
            <tr key={each.what}>
              <th scope="row">{each.what}</th><td>{ratio_words(each.mig_over_whole_gpus)}</td><td>{ratio_words(each.gain)}</td>
              <td>{each.scheduler === null ? "-" : name_of(each.scheduler)}</td><td>{each.changes_answer ? "yes" : "no"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Advised({ advice }: { advice: Advice }) {
  const all = in_order(advice.candidates.filter(ran));
  const layouts = all.filter(({ kind }) => kind === "fixed layout");
  // Layouts that differ from GPU to GPU are all of one scheduler, and differ by their words.
  const best = advice.answer.fixed_layout && name_of(advice.answer.fixed_layout);
  const shown = all.filter((each) => each.kind !== "fixed layout" || name_of(each) === best);
  const left_out = advice.candidates.filter(({ left_out: why }) => why !== null);
  return (
    <>
      <section aria-labelledby="advice">
        <h2 id="advice">The advice</h2>
        {advice.text.map((line) => <p key={line}>{line}</p>)}
      </section>
      <section aria-labelledby="candidates">
        <h2 id="candidates">Candidates side by side</h2>
        <p>
          Medians over {advice.draws.as_things_are} draws of the jobs, and below each what nine of ten draws lie between.
          Drawn is the mean turnaround over that on whole GPUs: left of 1 is quicker.
        </p>
        <Ratios candidates={shown} />
        <Rows candidates={shown} caption="As things are; of fixed layouts the best" name={short_name} />
        {left_out.length > 0 && (
          <details>
            <summary>{left_out.length} left out</summary>
            <ul>{left_out.map((each) => <li key={`${each.scheduler} ${each.layout ?? ""}`}>{name_of(each)}: {each.left_out}</li>)}</ul>
          </details>
        )}
      </section>
      {layouts.length > 0 && (
        <section aria-labelledby="layouts">
          <h2 id="layouts">Layouts that stay</h2>
          <Rows candidates={layouts} caption="Fixed layouts that were judged, the quickest first" name={name_of} />
        </section>
      )}
      <section aria-labelledby="measure">
        <h2 id="measure">What to measure first</h2>
        <Measure advice={advice} />
        <Changes advice={advice} />
      </section>
    </>
  );
}
