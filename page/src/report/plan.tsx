// A plan: the GPUs that change before and after, with what moves between them.

import { useMemo, useState } from "preact/hooks";
import type { Box, Plan } from "./document";
import { text_on } from "../parts/colours";
import { number } from "../parts/words";

const row = 40, bar = 26, name = 150, left = 160, width = 380, right = 660, whole = right + width + 20;
/** Rows that are drawn at first, and lines between them that still can be told apart. */
const most_rows = 40, most_lines = 40;

const colour_of_trip = (trip: number) => ["#4477aa", "#ee6677", "#228833", "#aa7711", "#66ccee", "#aa3377", "#7766cc", "#cc6644"][trip % 8] ?? "#888888";

export function Planned({ plan }: { plan: Plan }) {
  const [chosen, set_chosen] = useState<number | null>(null);
  const [wave, set_wave] = useState(0);
  const [rows, set_rows] = useState(most_rows);
  const shown = plan.gpus.slice(0, rows);
  return (
    <section aria-labelledby="plan">
      <h2 id="plan">The plan</h2>
      <p>{plan.headline}</p>
      <div class="beside">
        <table class="figures">
          <thead><tr><th scope="col">metric</th><th scope="col">now</th><th scope="col">goal</th></tr></thead>
          <tbody>
            {plan.metrics.map(([metric, now, goal]) => (
              <tr key={metric}><th scope="row">{metric}</th><td>{number(now)}</td><td>{number(goal)}</td></tr>
            ))}
          </tbody>
        </table>
        <Why plan={plan} />
      </div>
      {plan.gpus.length > 0 && (
        <>
          <h3>Before and after</h3>
          <div class="tools">
            <label>
              Wave{" "}
              <select value={wave} onChange={(event) => set_wave(Number(event.currentTarget.value))}>
                <option value={0}>all</option>
                {Array.from({ length: plan.waves }, (_, i) => <option key={i} value={i + 1}>{i + 1}</option>)}
              </select>
            </label>
            <span class="weak">Left what is there now, right what will be. Point at a workload to follow it.</span>
          </div>
          <Drawing plan={plan} gpus={shown} chosen={chosen} choose={set_chosen} wave={wave} />
          <p class="weak">
            {plan.gpus.length > rows && (
              <button type="button" onClick={() => set_rows(rows + 200)}>{Math.min(plan.gpus.length - rows, 200)} more of {plan.gpus.length - rows}</button>
            )}{" "}
            {plan.unchanged > 0 && (plan.unchanged === 1 ? "One GPU stays as it is." : `${number(plan.unchanged)} GPUs stay as they are.`)}
          </p>
          <Trips plan={plan} wave={wave} />
        </>
      )}
      {plan.pending.length > 0 && (
        <>
          <h3>Not placed</h3>
          <ul>{plan.pending.map(([workload, reason]) => <li key={workload}>{workload}: {reason}</li>)}</ul>
        </>
      )}
    </section>
  );
}

function Why({ plan }: { plan: Plan }) {
  return (
    <table class="figures proofs">
      <thead><tr><th scope="col">objective, in order</th><th scope="col">value</th><th scope="col">at best</th><th scope="col">why</th></tr></thead>
      <tbody>
        {plan.objective.map((each) => (
          <tr key={each.name}>
            <th scope="row">{each.name.replaceAll("_", " ").replace("gpus", "GPUs")}</th>
            <td>{number(each.value)}</td><td>{number(each.bound)}</td><td>{each.proof}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Drawn {
  plan: Plan;
  gpus: Plan["gpus"];
  chosen: number | null;
  choose: (trip: number | null) => void;
  wave: number;
}

function Drawing({ plan, gpus, chosen, choose, wave }: Drawn) {
  const lines = useMemo(() => {
    const from = new Map<number, [x: number, y: number]>(), to = new Map<number, [x: number, y: number]>();
    gpus.forEach((gpu, i) => {
      const middle = i * row + 20 + bar / 2, slice = width / gpu.slices;
      for (const [start, slices, , , , trip] of gpu.before)
        if (trip !== null) from.set(trip, [left + (start + slices) * slice, middle]);
      for (const [start, , , , , trip] of gpu.after)
        if (trip !== null) to.set(trip, [right + start * slice, middle]);
    });
    return [...from].flatMap(([trip, begin]) => {
      const end = to.get(trip);
      return end === undefined ? [] : [{ trip, begin, end }];
    });
  }, [gpus]);
  const seen = (trip: number | null) =>
    trip === null ? wave === 0 && chosen === null
      : (chosen === null || chosen === trip) && (wave === 0 || plan.trips[trip]?.wave === wave);
  const few = lines.length <= most_lines || wave > 0;
  const box = (gpu: Plan["gpus"][number], i: number, [start, slices, profile, workload, kind, trip]: Box, x: number) => {
    const slice = width / gpu.slices;
    const colour = trip === null ? "var(--stays)" : colour_of_trip(trip);
    const label = kind === "idle" ? `${profile}, idle` : kind === "locked" ? `${profile}, not ours` : `${workload}`;
    const room = slices * slice - 8;
    return (
      <g
        key={`${x}-${start}`} opacity={seen(trip) ? 1 : 0.3}
        onPointerEnter={() => choose(trip)} onPointerLeave={() => choose(null)}
      >
        <rect
          class={`box ${kind}`} x={x + start * slice + 0.5} y={i * row + 20} width={slices * slice - 1} height={bar} rx={3}
          fill={kind === "idle" ? "url(#idle)" : kind === "locked" ? "var(--foreign)" : colour}
        />
        {room > 24 && (
          <text
            x={x + start * slice + 5} y={i * row + 20 + 17} class="in-box"
            fill={trip === null ? "var(--text)" : text_on(colour)}
          >
            {label.length * 6.4 > room ? `${label.slice(0, Math.max(1, Math.floor(room / 6.4) - 1))}…` : label}
          </text>
        )}
        <title>{`${label}: ${profile} at ${start} on ${gpu.name}${trip === null ? "" : `. ${plan.trips[trip]?.told ?? ""}`}`}</title>
      </g>
    );
  };
  return (
    <svg class="plan" viewBox={`0 0 ${whole} ${gpus.length * row + 20}`} role="img" aria-label={`${gpus.length} GPUs before and after; the list of moves is below`}>
      <defs>
        <pattern id="idle" width="6" height="6" patternUnits="userSpaceOnUse">
          <path d="M-1 7L7 -1" stroke="var(--text-weak)" stroke-width="1" />
        </pattern>
      </defs>
      <text class="weak" x={left} y={12}>now</text>
      <text class="weak" x={right} y={12}>goal</text>
      {gpus.map((gpu, i) => (
        <g key={gpu.name}>
          <text x={0} y={i * row + 37}>{gpu.name.length * 7 > name ? `${gpu.name.slice(0, 20)}…` : gpu.name}</text>
          {[left, right].map((x) => <rect key={x} class="empty" x={x} y={i * row + 20} width={width} height={bar} rx={3} />)}
        </g>
      ))}
      {lines.filter(({ trip }) => (few || chosen === trip) && seen(trip)).map(({ trip, begin, end }) => (
        <path
          key={trip} class="trip" stroke={colour_of_trip(trip)} opacity={chosen === trip ? 1 : 0.7}
          d={`M${begin[0]} ${begin[1]}C${begin[0] + 90} ${begin[1]} ${end[0] - 90} ${end[1]} ${end[0] - 2} ${end[1]}`}
        />
      ))}
      {gpus.map((gpu, i) => (
        <g key={gpu.name}>
          {gpu.before.map((each) => box(gpu, i, each, left))}
          {gpu.after.map((each) => box(gpu, i, each, right))}
        </g>
      ))}
    </svg>
  );
}

function Trips({ plan, wave }: { plan: Plan; wave: number }) {
  const trips = plan.trips.filter((trip) => wave === 0 || trip.wave === wave);
  const most = 300;
  if (trips.length === 0) return null;
  return (
    <details open={trips.length <= 12}>
      <summary>{number(trips.length)} {trips.length === 1 ? "change" : "changes"}, wave by wave</summary>
      <table class="figures">
        <thead><tr><th scope="col">wave</th><th scope="col" class="words">what</th></tr></thead>
        <tbody>
          {trips.slice(0, most).map((trip) => (
            <tr key={trip.workload}><td>{trip.wave === 0 ? "-" : trip.wave}</td><td class="words">{trip.told}</td></tr>
          ))}
        </tbody>
      </table>
      {trips.length > most && <p>{trips.length - most} more; choose a wave, or `--json` has them all.</p>}
    </details>
  );
}

