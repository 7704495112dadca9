// GPUs before and after, side by side, with lines for what moves between them.

import { useMemo } from "preact/hooks";
import { text_on } from "./colours";
import type { Box } from "../report/document";

const row = 40, bar = 26, name = 150, left = 160, width = 380, right = 660, whole = right + width + 20;
/** Lines that still can be told apart. */
const most_lines = 40;

export const colour_of_trip = (trip: number) =>
  ["#4477aa", "#ee6677", "#228833", "#aa7711", "#66ccee", "#aa3377", "#7766cc", "#cc6644"][trip % 8] ?? "#888888";

export interface PlannedGpu {
  name: string;
  slices: number;
  before: Box[];
  after: Box[];
}

interface Drawn {
  gpus: PlannedGpu[];
  trips: { wave: number; told: string }[];
  chosen: number | null;
  choose: (trip: number | null) => void;
  wave: number;
}

export function PlanDrawing({ gpus, trips, chosen, choose, wave }: Drawn) {
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
      : (chosen === null || chosen === trip) && (wave === 0 || trips[trip]?.wave === wave);
  const few = lines.length <= most_lines || wave > 0;
  const box = (gpu: PlannedGpu, i: number, [start, slices, profile, workload, kind, trip]: Box, x: number) => {
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
        <title>{`${label}: ${profile} at ${start} on ${gpu.name}${trip === null ? "" : `. ${trips[trip]?.told ?? ""}`}`}</title>
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

/** Which wave of a plan is drawn; 0: all. */
export function WaveChoice({ waves, wave, choose }: { waves: number; wave: number; choose: (wave: number) => void }) {
  return (
    <label>
      Wave{" "}
      <select value={wave} onChange={(event) => choose(Number(event.currentTarget.value))}>
        <option value={0}>all</option>
        {Array.from({ length: waves }, (_, i) => <option key={i} value={i + 1}>{i + 1}</option>)}
      </select>
    </label>
  );
}
