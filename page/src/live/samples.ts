// Figures over time, as this page saw them.

export interface Sample {
  /** Seconds since 1970. */
  at: number;
  running: number;
  waiting: number;
  compute: number;
  memory: number;
  used: number | null;
  fragmentation: number;
  power_w: number | null;
  energy_j: number | null;
  /** Jobs that ended in the last ten minutes, as an hourly rate. */
  ended_per_h: number;
}

const most = 3000;

/** The latest samples stay as they are; of the older ones every second goes when there are many. */
export function with_sample(all: readonly Sample[], sample: Sample): Sample[] {
  const grown = [...all, sample];
  if (grown.length <= most) return grown;
  const half = grown.length >> 1;
  return [...grown.slice(0, half).filter((_, i) => i % 2 === 0), ...grown.slice(half)];
}

/** Ends within a time before now, as jobs an hour; `since`: the earliest that is known of. */
export function rate_of_ends(ends: readonly number[], now: number, since: number, within_s = 600): number {
  const from = Math.max(now - within_s, Math.min(since, now - 60));
  return (ends.filter((end) => end > from && end <= now).length / (now - from)) * 3600;
}
