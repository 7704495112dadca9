// One GPU as its slices, to scale: a row of compute slices above one of memory slices, with what
// lies on both. Kinds differ in pattern as well as in colour.

import type { GpuModel } from "../api/models";
import { colour_of_job, text_on } from "./colours";
import { type Piece, columns_of_compute, unusable } from "./slices";

const column = 42, compute_top = 0, compute_height = 26, memory_top = 30, memory_height = 34;
const height = memory_top + memory_height;

/** Patterns that drawings refer to: once on a page. */
export function Patterns() {
  return (
    <svg width="0" height="0" class="patterns" aria-hidden="true" focusable="false">
      <defs>
        <pattern id="hatched" width="7" height="7" patternUnits="userSpaceOnUse">
          <rect width="7" height="7" fill="var(--page)" />
          <path d="M-1 8L8 -1" stroke="var(--text-weak)" stroke-width="1.2" />
        </pattern>
        <pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse">
          <rect width="6" height="6" fill="var(--foreign)" />
          <circle cx="3" cy="3" r="1" fill="var(--page)" />
        </pattern>
        <pattern id="lined" width="6" height="6" patternUnits="userSpaceOnUse">
          <rect width="6" height="6" fill="var(--foreign)" />
          <path d="M0 3H6" stroke="var(--page)" stroke-width="1" />
        </pattern>
        <pattern id="crossed" width="10" height="10" patternUnits="userSpaceOnUse">
          <path d="M2 2L8 8M8 2L2 8" stroke="var(--bad)" stroke-width="1.1" fill="none" />
        </pattern>
      </defs>
    </svg>
  );
}

export interface Named {
  /** "12 train" */
  label: (job: number) => string;
  state: (job: number) => string;
}

export function words_of_piece(piece: Piece, named: Named): string {
  const profile = piece.profile === "" ? "the whole GPU" : `${piece.profile} at ${piece.start}`;
  const memory = piece.used_mib !== null && piece.total_mib !== null ? `, ${gib(piece.used_mib)} of ${gib(piece.total_mib)} in use` : "";
  switch (piece.kind) {
    case "job":
      return `${profile}: job ${piece.jobs.map(named.label).join(", ")}${memory}`;
    case "idle":
      return `${profile}, idle`;
    case "others":
      return `${profile}: another user's job${memory}`;
    case "claim":
      return `${profile}: ${piece.claim}${memory}`;
    case "foreign":
      return `${profile}, not made by Cleave${memory}`;
  }
}

/** "7.8 of 20 GiB" */
export const gib_of = (used: number, total: number) => `${gib(used).replace(" GiB", "")} of ${gib(total)}`;

export function gib(mib: number): string {
  const tebi = mib >= 1024 * 1024 * 4;
  const value = mib / (tebi ? 1024 * 1024 : 1024);
  return `${value.toFixed(value < 10 ? 1 : 0)} ${tebi ? "TiB" : "GiB"}`;
}

const text_of_kind: Record<Piece["kind"], string> = { job: "", others: "another user's", claim: "claim", idle: "idle", foreign: "not ours" };

/** "slurm:12" of "claim slurm:12 (job 12 of ann)". */
const short_claim = (words: string | null) => /^claim (\S+)/.exec(words ?? "")?.[1] ?? text_of_kind.claim;

function fill_of(piece: Piece, named: Named): string {
  if (piece.kind === "job") return colour_of_job(named.label(piece.jobs[0] ?? 0));
  if (piece.kind === "others") return "var(--foreign)";
  if (piece.kind === "claim") return "url(#lined)";
  return piece.kind === "foreign" ? "url(#dotted)" : "url(#hatched)";
}

interface Props {
  model: GpuModel;
  pieces: Piece[];
  label: string;
  named: Named;
  chosen: number | null;
  choose: (job: number) => void;
}

export function GpuDrawing({ model, pieces, label, named, chosen, choose }: Props) {
  const width = model.memory * column, of_compute = columns_of_compute(model) * column;
  const lost = unusable(model, pieces);
  const cell = (x: number, top: number, wide: number, high: number, kind: string) => (
    <rect class={kind} x={x + 1} y={top + 1} width={wide - 2} height={high - 2} rx={3} />
  );
  return (
    <svg class="gpu-drawing" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${label}. ${described(model, pieces, named)}`}>
      {Array.from({ length: model.compute }, (_, i) => cell(i * of_compute, compute_top, of_compute, compute_height, "slot"))}
      {Array.from({ length: model.memory }, (_, i) => cell(i * column, memory_top, column, memory_height, "slot"))}
      {lost.compute.map((i) => cell(i * of_compute, compute_top, of_compute, compute_height, "unusable"))}
      {lost.memory.map((i) => cell(i * column, memory_top, column, memory_height, "unusable"))}
      {pieces.map((piece) => <Instance key={`${piece.start} ${piece.profile}`} {...{ piece, named, chosen, choose, model }} />)}
    </svg>
  );
}

interface Drawn {
  piece: Piece;
  named: Named;
  chosen: number | null;
  choose: (job: number) => void;
  model: GpuModel;
}

function Instance({ piece, named, chosen, choose, model }: Drawn) {
  const job = piece.jobs[0];
  const x = piece.start * column, wide = piece.memory * column;
  const compute_wide = piece.compute * columns_of_compute(model) * column;
  const fill = fill_of(piece, named), ink = piece.kind === "job" ? text_on(fill) : "var(--text)";
  const faint = chosen !== null && !piece.jobs.includes(chosen);
  const starting = job !== undefined && named.state(job) === "starting";
  const used = piece.used_mib !== null && piece.total_mib ? Math.min(piece.used_mib / piece.total_mib, 1) : null;
  const text = piece.kind === "job" && job !== undefined ? named.label(job) : piece.kind === "claim" ? short_claim(piece.claim) : text_of_kind[piece.kind];
  return (
    <g
      class={`piece ${piece.kind}${starting ? " starting" : ""}${faint ? " faint" : ""}`} data-job={job}
      onClick={() => { if (job !== undefined) choose(job); }}
    >
      <title>{words_of_piece(piece, named)}</title>
      <rect x={x + 1} y={compute_top + 1} width={compute_wide - 2} height={compute_height - 2} rx={3} fill={fill} />
      <rect x={x + 1} y={memory_top + 1} width={wide - 2} height={memory_height - 2} rx={3} fill={fill} />
      {used !== null && piece.kind === "job" && (
        <>
          <rect class="memory-bar" x={x + 5} y={height - 9} width={wide - 10} height={5} rx={2.5} />
          <rect class="memory-used" x={x + 5} y={height - 9} width={Math.max((wide - 10) * used, 2)} height={5} rx={2.5} />
        </>
      )}
      <Words x={x + 4} y={compute_top + 17} room={compute_wide - 6} ink={ink} kind={piece.kind} text={text} />
      <Words x={x + 4} y={memory_top + 15} room={wide - 6} ink={ink} kind={piece.kind} text={piece.profile === "" ? "whole GPU" : piece.profile} />
    </g>
  );
}

const letter = 7;

/** What of it has room: the whole, its first word or the number before its unit, its beginning. */
function shortened(text: string, room: number): string {
  const letters = Math.max(Math.floor(room / letter), 1);
  if (text.length <= letters) return text;
  const profile = /^(\d+g)\./.exec(text)?.[1];
  if (profile !== undefined) return profile;
  const first = /^\d+(?= )/.exec(text)?.[0] ?? "";
  return letters - first.length < 4 && first !== "" ? first : `${text.slice(0, Math.max(letters - 1, 1))}…`;
}

function Words({ x, y, room, ink, kind, text }: { x: number; y: number; room: number; ink: string; kind: string; text: string }) {
  const shown = shortened(text, room);
  return (
    <>
      {kind !== "job" && <rect class="behind" x={x - 2} y={y - 11} width={Math.min(shown.length * letter + 4, room + 4)} height={14} rx={3} />}
      <text x={x} y={y} fill={ink}>{shown}</text>
    </>
  );
}

function described(model: GpuModel, pieces: Piece[], named: Named): string {
  const taken = pieces.reduce((sum, piece) => sum + piece.memory, 0);
  const lying = [...pieces].sort((a, b) => a.start - b.start).map((piece) => words_of_piece(piece, named));
  return `${lying.length === 0 ? "No instances" : lying.join("; ")}; ${model.memory - taken} of ${model.memory} memory slices without an instance`;
}
