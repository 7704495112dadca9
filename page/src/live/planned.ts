// A plan, or an order for one, as GPUs before and after.

import type { Gpu, PlanOrder, PlannedMove } from "../api/types";
import type { Named } from "../parts/gpu";
import type { PlannedGpu } from "../parts/plan_drawing";
import { type Piece, model_of } from "../parts/slices";
import type { Box } from "../report/document";

export interface DrawnPlan {
  gpus: PlannedGpu[];
  trips: { wave: number; told: string; state: string }[];
  waves: number;
}

/** Jobs that the plan leaves alone are drawn where they are now. */
export function drawn(moves: readonly PlannedMove[], gpus: readonly Gpu[], pieces: ReadonlyMap<string, Piece[]>, named: Named): DrawnPlan {
  const name_of = (uuid: string) => {
    const gpu = gpus.find((each) => each.uuid === uuid);
    return gpu === undefined ? uuid : `GPU ${gpu.index}`;
  };
  const moved = new Set(moves.map((move) => move.job));
  const touched = gpus.filter((gpu) => moves.some((move) => move.from.gpu === gpu.uuid || move.to.gpu === gpu.uuid));
  const all = touched.map((gpu): PlannedGpu => {
    const model = model_of(gpu.model);
    const slices_of = (profile: string) => model?.profiles.find((each) => each.name === profile)?.memory ?? 1;
    const boxes = (end: "from" | "to") => moves.flatMap((move, trip): Box[] => {
      const place = move[end];
      return place.gpu === gpu.uuid ? [[place.start, slices_of(place.profile), place.profile, named.label(move.job), end === "from" ? "stops" : "starts", trip]] : [];
    });
    const stays = (beside: Box[]) => (pieces.get(gpu.uuid) ?? [])
      .filter((piece) => piece.kind !== "idle" && !piece.jobs.some((job) => moved.has(job)))
      .filter((piece) => beside.every(([start, slices]) => start + slices <= piece.start || piece.start + piece.memory <= start))
      .map((piece): Box => [piece.start, piece.memory, piece.profile, piece.jobs.map(named.label).join(", "), piece.kind === "job" || piece.kind === "idle" ? "stays" : "locked", null]);
    const from = boxes("from"), to = boxes("to");
    return { name: `GPU ${gpu.index}`, slices: model?.memory ?? 8, before: [...from, ...stays(from)], after: [...to, ...stays(to)] };
  });
  return {
    gpus: all,
    waves: moves.reduce((most, move) => Math.max(most, move.wave), 0),
    trips: moves.map((move) => ({
      wave: move.wave,
      state: move.state ?? "open",
      told: `${named.label(move.job)}: from ${move.from.profile} at ${move.from.start} on ${name_of(move.from.gpu)} to ${move.to.profile} at ${move.to.start} on ${name_of(move.to.gpu)}${move.why_not ? `; left: ${move.why_not}` : ""}`,
    })),
  };
}

/** GPUs on which jobs run now and none will. */
export function frees(moves: readonly PlannedMove[], gpus: readonly Gpu[], pieces: ReadonlyMap<string, Piece[]>): Gpu[] {
  const moved = new Set(moves.map((move) => move.job));
  return gpus.filter((gpu) => {
    const there = (pieces.get(gpu.uuid) ?? []).filter((piece) => piece.kind === "job");
    return there.length > 0 && there.every((piece) => piece.jobs.every((job) => moved.has(job))) &&
      !moves.some((move) => move.to.gpu === gpu.uuid);
  });
}

/** What `cleave plan compact --live -o FILE` has written, or why it is something else. */
export function order_in(text: string): PlanOrder | string {
  let order: PlanOrder;
  try {
    order = JSON.parse(text) as PlanOrder;
  } catch {
    return "the file is not JSON";
  }
  if (typeof order?.kind !== "string" || !Array.isArray(order.moves)) return "the file is not a plan that `cleave plan --live -o` writes";
  const whole = order.moves.every((move) => typeof move?.job === "number" && typeof move.wave === "number" && typeof move.from?.gpu === "string" && typeof move.to?.gpu === "string");
  return whole ? order : "a move of the plan has no job, wave, from or to";
}
