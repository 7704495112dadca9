// Figures over time and the timeline of slices, as this page has seen them.

import { useMemo, useState } from "preact/hooks";
import { Chart, type ChartLine, time_steps } from "../parts/chart";
import { colour_of_line } from "../parts/colours";
import { Timeline } from "../parts/timeline";
import { number, percent } from "../parts/words";
import { clock, clock_s } from "./clock";
import { usePage } from "./context";
import type { Sample } from "./samples";

const spans_of_time: [words: string, seconds: number][] = [["5 minutes", 300], ["30 minutes", 1800], ["3 hours", 10_800], ["all", Infinity]];

const watts = (value: number) => `${number(Math.round(value))} W`;

export function OverTime() {
  const { state, live } = usePage();
  const [seconds, set_seconds] = useState(1800);
  const now = Date.now() / 1000;
  const samples = useMemo(() => state.samples.filter((sample) => sample.at > now - seconds), [state.samples, seconds]);
  const recorded = useMemo(() => live.recorder.document(Math.min(seconds, 86_400) * 1000), [state.looks, seconds]);
  const at = (ms: number) => clock(recorded.begin + ms);
  return (
    <section aria-labelledby="over-time">
      <h2 id="over-time" tabIndex={-1}>Over time</h2>
      <div class="tools">
        <label>
          The last{" "}
          <select value={String(seconds)} onChange={(event) => set_seconds(Number(event.currentTarget.value))}>
            {spans_of_time.map(([words, value]) => <option key={words} value={String(value)}>{words}</option>)}
          </select>
        </label>
        <span class="weak">Figures since this page was opened, at {clock_s(state.samples[0]?.at ?? now)}; attempts of the latest jobs also from before.</span>
      </div>
      <h3>Slices</h3>
      {recorded.timeline.gpus.all.length > 0 && <Timeline document={recorded.timeline} length={recorded.length} label="the GPUs" clock={at} />}
      <h3>Figures</h3>
      <Charts samples={samples} />
    </section>
  );
}

/** Joules since the first sample that has them. */
function used_since(samples: readonly Sample[]): (number | null)[] {
  const first = samples.find((sample) => sample.energy_j !== null)?.energy_j ?? null;
  return samples.map((sample) => (sample.energy_j === null || first === null ? null : Math.max(sample.energy_j - first, 0)));
}

function Charts({ samples }: { samples: Sample[] }) {
  const charts = useMemo(() => {
    const line = (place: number, label: string, values: (number | null)[], words: ChartLine["words"], dash?: number[]): ChartLine =>
      ({ label, values, words, colour: colour_of_line(place), steps: true, ...(dash ? { dash } : {}) });
    const of = (field: keyof Sample) => samples.map((sample) => sample[field]);
    return {
      x: samples.map((sample) => sample.at),
      held: [line(0, "compute held", of("compute"), percent), line(1, "memory held", of("memory"), percent, [6, 3]), line(2, "memory in use", of("used"), percent, [2, 2])],
      jobs: [line(1, "waiting", of("waiting"), number), line(0, "running", of("running"), number, [6, 3])],
      fragmentation: [line(3, "fragmentation", of("fragmentation"), percent)],
      ends: [line(2, "ended", of("ended_per_h"), (value) => `${number(Math.round(value))} an hour`)],
      power: [line(4, "power", of("power_w"), watts)],
      energy: [line(5, "energy", used_since(samples), (value) => `${number(value / 1000)} kJ`)],
    };
  }, [samples]);
  if (samples.length < 2) return <p class="weak">They are drawn as soon as there are two looks.</p>;
  const common = { x: charts.x, x_words: clock_s, x_steps: time_steps, height: 150 };
  return (
    <div class="charts">
      <Chart {...common} title="Slices that jobs hold, and of their memory what is in use" lines={charts.held} y_words={percent} range={[0, 1.02]} />
      <Chart {...common} title="Jobs" lines={charts.jobs} y_words={number} range={[0, null]} />
      <Chart {...common} title="Power of all GPUs" lines={charts.power} y_words={watts} range={[0, null]} />
      <Chart {...common} title="Energy since the left edge" lines={charts.energy} y_words={(value) => `${number(value / 1000)} kJ`} range={[0, null]} />
      <Chart {...common} title="Jobs that ended, over ten minutes" lines={charts.ends} y_words={(value) => `${number(value)}/h`} range={[0, null]} />
      <Chart {...common} title="Fragmentation: of what would fit by size, what does not fit by position" lines={charts.fragmentation} y_words={percent} range={[0, null]} />
    </div>
  );
}
