// The GPUs: each drawn to scale, or in a large fleet as tiles of which one is drawn in full.

import { useMemo, useState } from "preact/hooks";
import { memo } from "preact/compat";
import type { Gpu } from "../api/types";
import { colour_of_job } from "../parts/colours";
import { GpuDrawing, type Named, gib, words_of_piece } from "../parts/gpu";
import { type Piece, type Room, held_by_jobs, model_of, room_on, short_model } from "../parts/slices";
import { number, percent, reserved } from "../parts/words";
import { send } from "./api";
import { useAction, usePage } from "./context";

/** As many are drawn in full. */
const most_in_full = 40;

export function Gpus() {
  const { state } = usePage();
  return (
    <section aria-labelledby="gpus">
      <h2 id="gpus" tabIndex={-1}>GPUs</h2>
      {state.gpus.length > most_in_full ? <Fleet /> : (
        <div class="gpus">{state.gpus.map((gpu) => <GpuCard key={gpu.uuid} gpu={gpu} />)}</div>
      )}
      <Legend />
      <Instances />
    </section>
  );
}

function signs_of(gpu: Gpu): [text: string, bad: boolean][] {
  const signs: [string, boolean][] = [];
  if (gpu.lost) signs.push(["lost", true]);
  if (gpu.trouble !== "") signs.push([gpu.trouble, true]);
  if (gpu.drained) signs.push(["drained", false]);
  if (gpu.reserved_for !== null) signs.push([reserved(gpu.reserved_for, gpu.reserved_from, gpu.reserved_until, Date.now()), false]);
  if (!gpu.mig) signs.push(["MIG off", false]);
  return signs;
}

function GpuCard({ gpu }: { gpu: Gpu }) {
  const { state, acts, operates, named, marked, choose } = usePage();
  const [busy, act] = useAction();
  const model = model_of(gpu.model), pieces = state.pieces.get(gpu.uuid) ?? [];
  const held = model === null ? null : held_by_jobs(model, pieces);
  const room = model === null || !gpu.mig ? [] : room_on(model, pieces);
  const turn = gpu.drained ? "undrain" : "drain";
  return (
    <article class={`gpu${gpu.lost ? " lost" : ""}`} aria-label={`GPU ${gpu.index}`}>
      <div class="gpu-head">
        <h3>GPU {gpu.index}</h3>
        <span class="weak">{short_model(gpu.model)}</span>
        {signs_of(gpu).map(([text, bad]) => <span key={text} class={`sign${bad ? " bad" : ""}`}>{text}</span>)}
        <span class="figure">{held !== null && `${percent(held.compute)} held`}{gpu.power_w !== null && ` · ${Math.round(gpu.power_w)} W`}</span>
        {acts && operates && (
          <button
            type="button" class="small" disabled={busy} aria-label={`${turn} GPU ${gpu.index}`}
            title={gpu.drained ? "Lets it take new jobs again" : "Lets its jobs end, and gives it no new ones"}
            onClick={() => act(async () => {
              await send("POST", `/v1/gpus/${gpu.uuid}/${turn}`);
              return gpu.drained ? `GPU ${gpu.index} takes jobs again` : `GPU ${gpu.index} takes no new jobs`;
            })}
          >
            {gpu.drained ? "Undrain" : "Drain"}
          </button>
        )}
      </div>
      {model === null
        ? <p class="weak">This page does not know this model's slices; its layout: {gpu.layout || "empty"}</p>
        : <GpuDrawing model={model} pieces={pieces} label={`GPU ${gpu.index}`} named={named} chosen={marked} choose={choose} />}
      {room.length > 0 && <Fits room={room} drained={gpu.drained || gpu.lost} />}
    </article>
  );
}

/** What would fit now, by position; and what only its size speaks for. */
function Fits({ room, drained }: { room: Room[]; drained: boolean }) {
  const fits = room.filter((each) => each.by_position > 0);
  const only_by_size = room.filter((each) => each.by_position === 0 && each.by_size > 0);
  return (
    <p class="fits">
      {fits.length === 0 ? <span class="weak">Nothing more fits. </span> : (
        <>
          <span class="weak">{drained ? "Free, but it takes no jobs: " : "Fits: "}</span>
          {fits.map((each) => (
            <span key={each.profile.name} class="fit" title={`may begin at ${each.starts.join(", ")}`}>
              {each.by_position > 1 && `${each.by_position} × `}{each.profile.name}<span class="weak"> at {each.starts.join(", ")}</span>
            </span>
          ))}
        </>
      )}
      {only_by_size.length > 0 && (
        <span class="weak">By size, but not by position: {only_by_size.map((each) => each.profile.name).join(", ")}.</span>
      )}
    </p>
  );
}

function Legend() {
  return (
    <p class="legend">
      {[
        ["job", "a job, in its colour; the bar is its memory in use"], ["others", "another user's job"], ["lined", "a claim of another engine"], ["idle", "idle instance"], ["dotted", "not made by Cleave"],
        ["blocked", "free, but of no use to any profile"], ["free", "free"],
      ].map(([kind, words]) => <span class="entry" key={kind}><span class={`swatch ${kind}`} /> {words}</span>)}
      <span class="entry">Above, compute slices; below, memory slices. Idle instances make way, so what fits counts them as free.</span>
    </p>
  );
}

/** For screen readers, and to copy from. */
function Instances() {
  const { state, named } = usePage();
  const [open, set_open] = useState(false);
  return (
    <details onToggle={(event) => set_open(event.currentTarget.open)}>
      <summary>Instances as a table</summary>
      {open && (
        <div class="wide" tabIndex={0} role="region" aria-label="Instances">
          <table>
            <thead><tr><th scope="col">GPU</th><th scope="col">profile</th><th scope="col">start</th><th scope="col">memory in use</th><th scope="col" class="words">what</th></tr></thead>
            <tbody>
              {state.gpus.flatMap((gpu) => (state.pieces.get(gpu.uuid) ?? []).map((piece) => (
                <tr key={`${gpu.uuid} ${piece.start} ${piece.profile}`}>
                  <th scope="row">{gpu.index}</th><td>{piece.profile || "whole GPU"}</td><td>{piece.start}</td>
                  <td>{piece.used_mib !== null && piece.total_mib !== null ? `${gib(piece.used_mib)} of ${gib(piece.total_mib)}` : "-"}</td>
                  <td class="words">{words_of_piece(piece, named)}</td>
                </tr>
              )))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

/** A profile's room in all GPUs. */
export function FleetRoom() {
  const { state } = usePage();
  const rows = useMemo(() => {
    const all = new Map<string, { by_position: number; by_size: number; gpus: number }>();
    for (const gpu of state.gpus) {
      const model = model_of(gpu.model);
      if (model === null || !gpu.mig || gpu.lost || gpu.drained) continue;
      for (const room of room_on(model, state.pieces.get(gpu.uuid) ?? [])) {
        const row = all.get(room.profile.name) ?? { by_position: 0, by_size: 0, gpus: 0 };
        row.by_position += room.by_position;
        row.by_size += room.by_size;
        row.gpus += room.by_position > 0 ? 1 : 0;
        all.set(room.profile.name, row);
      }
    }
    return [...all];
  }, [state.pieces]);
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="room">
      <h2 id="room">What is free</h2>
      <table class="figures">
        <thead><tr><th scope="col">profile</th><th scope="col">fit by position</th><th scope="col">on GPUs</th><th scope="col">would fit by size</th></tr></thead>
        <tbody>
          {rows.map(([profile, row]) => (
            <tr key={profile} class={row.by_position < row.by_size ? "short" : ""}>
              <th scope="row">{profile}</th><td>{number(row.by_position)}</td><td>{number(row.gpus)}</td><td>{number(row.by_size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Tiles of many GPUs; the one that is chosen is drawn in full. */
function Fleet() {
  const { state, named } = usePage();
  const [chosen, set_chosen] = useState<string | null>(null);
  const [profile, set_profile] = useState("");
  const fitting = (gpu: Gpu) => {
    const model = model_of(gpu.model);
    if (profile === "" || model === null) return profile === "";
    return !gpu.drained && !gpu.lost && room_on(model, state.pieces.get(gpu.uuid) ?? []).some((room) => room.profile.name === profile && room.by_position > 0);
  };
  const shown = state.gpus.filter(fitting);
  const profiles = [...new Set(state.gpus.flatMap((gpu) => model_of(gpu.model)?.profiles.filter((each) => each.plain).map((each) => each.name) ?? []))];
  const one = state.gpus.find((gpu) => gpu.uuid === chosen) ?? shown[0];
  return (
    <>
      <div class="tools">
        <label>
          Show{" "}
          <select value={profile} onChange={(event) => set_profile(event.currentTarget.value)}>
            <option value="">all GPUs</option>
            {profiles.map((name) => <option key={name} value={name}>GPUs with room for {name}</option>)}
          </select>
        </label>
        <span class="weak" role="status">{number(shown.length)} of {number(state.gpus.length)}. Each tile is a GPU with its memory slices; choose one to see it in full.</span>
      </div>
      <div class="tiles" role="group" aria-label="GPUs" onKeyDown={by_arrows}>
        {shown.map((gpu) => (
          <Tile key={gpu.uuid} gpu={gpu} pieces={state.pieces.get(gpu.uuid) ?? []} named={named} pressed={gpu.uuid === one?.uuid} press={set_chosen} />
        ))}
      </div>
      {one !== undefined && <div class="gpus"><GpuCard gpu={one} /></div>}
    </>
  );
}

/** Left and right go from tile to tile. */
function by_arrows(event: KeyboardEvent) {
  const by = event.key === "ArrowRight" ? "nextElementSibling" : event.key === "ArrowLeft" ? "previousElementSibling" : null;
  const next = by === null ? null : document.activeElement?.[by];
  if (!(next instanceof HTMLElement)) return;
  event.preventDefault();
  next.focus();
}

interface TileProps {
  gpu: Gpu;
  pieces: Piece[];
  named: Named;
  pressed: boolean;
  press: (uuid: string) => void;
}

const looks_like = (props: TileProps) =>
  `${props.pressed} ${props.gpu.lost} ${props.gpu.drained} ${props.gpu.reserved_for} ${props.gpu.trouble} ${props.pieces.map((piece) => `${piece.start} ${piece.memory} ${piece.kind} ${piece.jobs[0]}`)}`;

const Tile = memo(({ gpu, pieces, named, pressed, press }: TileProps) => {
  const model = model_of(gpu.model);
  const slices = model?.memory ?? 8;
  const held = model === null ? 0 : held_by_jobs(model, pieces).compute;
  const signs = signs_of(gpu).map(([text]) => text).join(", ");
  return (
    <button
      type="button" class={`tile${gpu.lost || gpu.trouble !== "" ? " bad" : ""}${gpu.drained ? " drained" : ""}`} aria-pressed={pressed}
      aria-label={`GPU ${gpu.index}, ${percent(held)} held${signs === "" ? "" : `, ${signs}`}`} onClick={() => press(gpu.uuid)}
    >
      <span aria-hidden="true">{gpu.index}</span>
      <svg viewBox={`0 0 ${slices * 8} 14`} aria-hidden="true" focusable="false" preserveAspectRatio="none">
        <rect class="slot" x={0} y={0} width={slices * 8} height={14} />
        {pieces.map((piece) => (
          <rect
            key={piece.start} x={piece.start * 8 + 0.5} y={0.5} width={piece.memory * 8 - 1} height={13}
            fill={piece.kind === "job" ? colour_of_job(named.label(piece.jobs[0] ?? 0)) : piece.kind === "idle" ? "url(#hatched)" : "var(--foreign)"}
          />
        ))}
      </svg>
    </button>
  );
}, (before, after) => looks_like(before) === looks_like(after));
