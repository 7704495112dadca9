// A report's document, as `cleave ... --report` writes it: docs/formats.md, Report.

export type Line = readonly [word: string, value: string];

export interface Series {
  step_ms: number;
  waiting: number[];
  running: number[];
  compute: number[];
  memory: number[];
  fragmentation: number[];
  speed: number[];
  power_w?: number[];
}

/** In columns, a span each. */
export interface Spans {
  gpu: number[];
  start: number[];
  slices: number[];
  compute: number[];
  profile: number[];
  doing: number[];
  /** By number; below zero: so many jobs; null: none. */
  job: (number | null)[];
  /** The begin, after that of the span before it. */
  after_ms: number[];
  length_ms: number[];
}

export interface Row {
  first: number;
  last: number;
  held: number[];
}

export interface Mark {
  what: string;
  at_ms: number;
  job?: string;
  gpu?: number;
}

export type Place = [gpu: number, start: number, slices: number];

export interface Move {
  from: Place;
  left_ms: number;
  to: Place;
  arrives_ms: number;
}

export interface Timeline {
  gpus: {
    models: { name: string; compute: number; slices: number }[];
    all: ({ name: string; model: number } | number)[];
  };
  marks: Mark[];
  moves: Move[];
  // Of a run with few enough spans:
  spans?: Spans;
  profiles?: string[];
  doings?: string[];
  jobs?: string[];
  // Of others:
  rows?: Row[];
  step_ms?: number;
}

export interface Recorded {
  length_ms: number;
  series?: Series;
  timeline?: Timeline;
}

export interface Distributions {
  jobs: number;
  shares: number[];
  wait_s?: number[];
  turnaround_s?: number[];
  execution_s?: number[];
  slowdown?: number[];
}

export interface Run {
  scheduler: string;
  seed: number;
  summary: Line[];
  figures: Record<string, unknown>;
  recorded: Recorded | null;
  distributions: Distributions | null;
  users: { user: string; jobs: number; share: number }[];
}

export interface Spread {
  median: number | null;
  low?: number;
  high?: number;
  seeds?: number;
}

export interface Figure extends Spread {
  ratio?: Spread | null;
  lower?: number;
  higher?: number;
  equal?: number;
  exceeds_spread?: boolean | null;
  bound?: Spread;
}

export interface Comparison {
  seeds: { seed: number; jobs: number; compared_jobs: number; same_jobs: boolean }[];
  distinct_seeds: number;
  spread: string;
  rule: string;
  schedulers: { scheduler: string; figures: Record<string, Figure> }[];
}

/** An instance on a GPU: `kind` says what becomes of it, `trip` is the number of its change. */
export type Box = [
  start: number, slices: number, profile: string, workload: string, kind: string, trip: number | null,
];

export interface Plan {
  headline: string;
  waves: number;
  unchanged: number;
  gpus: { name: string; model: string; slices: number; before: Box[]; after: Box[] }[];
  trips: { workload: string; wave: number; moves: boolean; told: string }[];
  objective: { name: string; value: number; bound: number; proof: string }[];
  metrics: [name: string, now: number, goal: number][];
  pending: [workload: string, reason: string][];
}

/** Times over other times, draw by draw. */
export interface Ratio {
  median: number;
  low: number;
  high: number;
  shorter: number;
  longer: number;
  draws: number;
  difference: string;
}

export interface Draw {
  turnaround_mean_s: number;
  wait_mean_s: number;
  slowdown_p95: number | null;
  makespan_s: number;
}

export interface Candidate {
  scheduler: string;
  kind: string;
  layout: string | null;
  left_out: string | null;
  over_whole_gpus?: Ratio | null;
  draws?: Draw[];
}

export interface Advice {
  text: string[];
  answer: { fixed_layout: { scheduler: string; layout: string | null } | null };
  candidates: Candidate[];
  changes: {
    what: string;
    scheduler: { scheduler: string; layout: string | null } | null;
    mig_over_whole_gpus: Ratio | null;
    gain: Ratio | null;
    changes_answer: boolean;
  }[];
  unmeasured: {
    application: string; jobs: number; gpu_hours: number; share: number; moves: number | null; changes_answer: boolean;
  }[];
  draws: { as_things_are: number };
}

export interface Report {
  format: string;
  title: string;
  version: string;
  command: string[];
  asked: Line[];
  assumed: string[];
  runs: Run[];
  comparison: Comparison | null;
  plan: Plan | null;
  advice: Advice | null;
}

export const known_format = "cleave report/1";
