// A GPU as its slices: what lies on them, what is free and for which profiles, what nothing can
// use. The counts are those of src/graph/fragmentation.cpp.

import type { Gpu, ListedJob } from "../api/types";
import { type GpuModel, type Profile, gpu_models } from "../api/models";

export type PieceKind = "job" | "others" | "claim" | "idle" | "foreign";

/** An instance, or a whole GPU, where it lies. */
export interface Piece {
  kind: PieceKind;
  profile: string;
  start: number;
  memory: number;
  compute: number;
  jobs: number[];
  /** "claim slurm:12 (job 12 of ann)", where another engine has it. */
  claim: string | null;
  used_mib: number | null;
  total_mib: number | null;
}

export function model_of(driver_name: string): GpuModel | null {
  return gpu_models.find((model) => model.names.includes(driver_name)) ?? null;
}

/** "NVIDIA A100-SXM4-40GB" without its maker. */
export const short_model = (driver_name: string) => driver_name.replace(/^NVIDIA /, "");

function profile_of(model: GpuModel | null, name: string): Profile | null {
  return model?.profiles.find((profile) => profile.name === name) ?? null;
}

/** A profile's slices by its name, where the model is not known: "3g.20gb" has three. */
const compute_by_name = (name: string) => Number(/^(\d+)g/.exec(name)?.[1] ?? 1);

/** A claim by another engine in words; of somebody else's there is no key. */
function claim_in_words(key: string | null, holder: string | null): string | null {
  if (key === null) return null;
  return key === "" ? "a claim of another engine" : `claim ${key}${holder ? ` (${holder})` : ""}`;
}

/** One that a job has which is not shown here is another user's. */
export function pieces_of(gpu: Gpu, model: GpuModel | null, whole: readonly ListedJob[] = []): Piece[] {
  const all = gpu.instances.map((instance): Piece => {
    const profile = profile_of(model, instance.profile);
    const ours = instance.owner === "ours" || instance.owner === "half-made";
    return {
      kind: instance.jobs.length > 0 ? "job" : instance.claim !== null ? "claim" : !ours ? "foreign" : instance.held ? "others" : "idle",
      profile: instance.profile,
      start: instance.start,
      memory: profile?.memory ?? compute_by_name(instance.profile),
      compute: profile?.compute ?? compute_by_name(instance.profile),
      jobs: instance.jobs,
      claim: claim_in_words(instance.claim, instance.claim_holder),
      used_mib: instance.used_mib,
      total_mib: instance.total_mib,
    };
  });
  if (whole.length > 0 && all.length === 0)
    all.push({
      kind: "job", profile: "", start: 0, memory: model?.memory ?? 8, compute: model?.compute ?? 7,
      jobs: whole.map((job) => job.id), claim: null, used_mib: null, total_mib: null,
    });
  return all;
}

/** Which memory slices are held: idle instances make way. */
function held(model: GpuModel, pieces: readonly Piece[]): boolean[] {
  const taken = Array.from({ length: model.memory }, () => false);
  for (const piece of pieces)
    if (piece.kind !== "idle")
      taken.fill(true, piece.start, piece.start + piece.memory);
  return taken;
}

export interface Room {
  profile: Profile;
  /** Instances that would fit if only amounts mattered. */
  by_size: number;
  /** Starts at which one fits; they may exclude one another. */
  starts: number[];
  /** Instances that fit at a time. */
  by_position: number;
}

/** What fits beside what is held, for each plain profile from large to small. */
export function room_on(model: GpuModel, pieces: readonly Piece[]): Room[] {
  const taken = held(model, pieces);
  const of_compute = model.compute - pieces
    .filter((piece) => piece.kind !== "idle")
    .reduce((sum, piece) => sum + piece.compute, 0);
  const of_memory = taken.filter((each) => !each).length;
  return model.profiles.filter((profile) => profile.plain).map((profile) => {
    const starts = profile.starts.filter((start) => !taken.slice(start, start + profile.memory).includes(true));
    let by_position = 0, next = 0;
    for (const start of starts)
      if (start >= next) {
        ++by_position;
        next = start + profile.memory;
      }
    const by_size = Math.min(Math.floor(of_compute / profile.compute), Math.floor(of_memory / profile.memory));
    return { profile, by_size, starts, by_position: Math.min(by_position, by_size) };
  });
}

/** Of what would fit by size, the share that does not fit by position: the mean over profiles. */
export function fragmentation(room: readonly Room[]): number {
  const shares = room.map(({ by_size, starts }) => (by_size === 0 ? 0 : (by_size - starts.length) / by_size));
  return shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** Columns of the drawing: memory slices that are free and in no profile's reach, and compute
 *  slices that are free where their memory is taken. */
export function unusable(model: GpuModel, pieces: readonly Piece[]): { memory: number[]; compute: number[] } {
  const taken = held(model, pieces);
  const reached = taken.map(() => false);
  for (const { profile, starts } of room_on(model, pieces))
    for (const start of starts) reached.fill(true, start, start + profile.memory);
  const width = columns_of_compute(model);
  const computing = Array.from({ length: model.compute }, () => false);
  for (const piece of pieces) {
    const first = Math.floor(piece.start / width);
    computing.fill(true, first, first + piece.compute);
  }
  const standing = new Set(pieces.flatMap((piece) => Array.from({ length: piece.memory }, (_, i) => piece.start + i)));
  const all = taken.map((_, i) => i);
  return {
    memory: all.filter((i) => !standing.has(i) && !reached[i]),
    compute: computing.flatMap((used, i) => {
      const over = Array.from({ length: width }, (_, k) => i * width + k);
      return !used && over.every((k) => taken[k] || !reached[k]) ? [i] : [];
    }),
  };
}

/** How many memory slices wide a compute slice is drawn. */
export function columns_of_compute(model: GpuModel): number {
  return Math.max(Math.floor(model.memory / model.compute), 1);
}

/** Shares of a GPU that jobs hold, or claims of another engine. */
export function held_by_jobs(model: GpuModel, pieces: readonly Piece[]): { compute: number; memory: number } {
  const with_jobs = pieces.filter((piece) => piece.kind !== "idle" && piece.kind !== "foreign");
  const sum = (of: (piece: Piece) => number) => with_jobs.reduce((all, piece) => all + of(piece), 0);
  return { compute: sum((piece) => piece.compute) / model.compute, memory: sum((piece) => piece.memory) / model.memory };
}
