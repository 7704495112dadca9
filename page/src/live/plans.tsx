// Plans: a preview of a compaction, before and after with its waves, and those that were begun.

import { useState } from "preact/hooks";
import type { Plan, PlanOrder, PlannedMove } from "../api/types";
import { PlanDrawing, WaveChoice } from "../parts/plan_drawing";
import { number, time } from "../parts/words";
import { Failed, send } from "./api";
import { clock, from_now } from "./clock";
import { useAction, usePage } from "./context";
import { drawn, frees, order_in } from "./planned";

export function Plans() {
  const { state, acts, operates } = usePage();
  if (!operates) return null;
  return (
    <section aria-labelledby="plans">
      <h2 id="plans" tabIndex={-1}>Plans</h2>
      {acts && <Preview />}
      {state.plans.length === 0 ? <p class="weak">No plan was begun so far.</p> : state.plans.slice(0, 10).map((plan) => <Begun key={plan.plan} plan={plan} />)}
    </section>
  );
}

/** Asks the daemon for a plan; where it makes none, takes the file of a client that does. */
function Preview() {
  const { live, state } = usePage();
  const [busy, act] = useAction();
  const [order, set_order] = useState<PlanOrder | null>(null), [by_hand, set_by_hand] = useState(false);
  const preview = () => act(async () => {
    try {
      const made = await send<PlanOrder>("POST", "/v1/plans/preview", { kind: "compact" });
      set_order(made);
      return (made.moves ?? []).length === 0 ? "No job needs to be moved, or none allows it" : "A compaction is planned; nothing has been changed yet";
    } catch (error) {
      if (!(error instanceof Failed) || (error.status !== 404 && error.status !== 405)) throw error;
      set_by_hand(true);
      return "This daemon makes no plans itself: see below";
    }
  });
  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    await act(async () => {
      const read = order_in(await file.text());
      if (typeof read === "string") throw new Error(read);
      set_order(read);
      return `${read.moves?.length ?? 0} moves are shown; nothing has been changed yet`;
    });
  };
  const carry_out = () => act(async () => {
    const plan = await send<Plan>("POST", "/v1/plans", order);
    set_order(null);
    live.plans_changed();
    return `Plan ${plan.plan} is being carried out`;
  });
  const moves = order?.moves ?? [];
  return (
    <>
      <div class="tools">
        <button type="button" disabled={busy} onClick={preview}>Preview a compaction</button>
        <button type="button" aria-expanded={by_hand} onClick={() => set_by_hand(!by_hand)}>From a file…</button>
      </div>
      {by_hand && (
        <div class="by-hand">
          <p>Have the plan made on the daemon's machine, which proves that nothing is better, and open it here:</p>
          <pre><code>cleave plan compact --live -o plan.json</code></pre>
          <label>Plan <input type="file" accept=".json,application/json" onChange={(event) => void take(event.currentTarget.files?.[0])} /></label>
        </div>
      )}
      {order !== null && (
        <article class="plan-preview" aria-label="Preview">
          <h3>Preview: nothing has been changed yet</h3>
          <Facts moves={moves} freed={frees(moves, state.gpus, state.pieces).map((gpu) => `GPU ${gpu.index}`)} expected_s={order.expected_s ?? null} />
          <Drawing moves={moves} />
          <div class="tools">
            <button type="button" class="primary" disabled={busy || moves.length === 0} onClick={carry_out}>Carry it out</button>
            <button type="button" onClick={() => set_order(null)}>Leave it</button>
          </div>
        </article>
      )}
    </>
  );
}

function Facts({ moves, freed, expected_s }: { moves: readonly PlannedMove[]; freed: string[]; expected_s: number | null }) {
  const waves = new Set(moves.map((move) => move.wave)).size;
  return (
    <p>
      {number(moves.length)} {moves.length === 1 ? "move" : "moves"} in {waves} {waves === 1 ? "wave" : "waves"}.{" "}
      Frees {freed.length === 0 ? "no GPU" : freed.join(", ")}.{expected_s !== null && <> Expected to take {time(expected_s)}.</>}
    </p>
  );
}

function Drawing({ moves }: { moves: readonly PlannedMove[] }) {
  const { state, named } = usePage();
  const [chosen, set_chosen] = useState<number | null>(null), [wave, set_wave] = useState(0);
  const plan = drawn(moves, state.gpus, state.pieces, named);
  if (moves.length === 0) return null;
  return (
    <>
      {plan.waves > 1 && (
        <div class="tools">
          <WaveChoice waves={plan.waves} wave={wave} choose={set_wave} />
        </div>
      )}
      <div class="wide" tabIndex={0} role="region" aria-label="GPUs before and after">
        <PlanDrawing gpus={plan.gpus.slice(0, 40)} trips={plan.trips} chosen={chosen} choose={set_chosen} wave={wave} />
      </div>
      <table>
        <thead><tr><th scope="col">wave</th><th scope="col" class="words">move</th><th scope="col" class="words">state</th></tr></thead>
        <tbody>
          {plan.trips.filter((trip) => wave === 0 || trip.wave === wave).slice(0, 200).map((trip) => (
            <tr key={trip.told}><td>{trip.wave}</td><td class="words">{trip.told}</td><td class="words">{trip.state}</td></tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Begun({ plan }: { plan: Plan }) {
  const { live, state, acts } = usePage();
  const [busy, act] = useAction();
  const [open, set_open] = useState(plan.ended_at === null);
  const change = (verb: "pause" | "resume" | "cancel", told: string) => act(async () => {
    await send("POST", `/v1/plans/${plan.plan}/${verb}`);
    live.plans_changed();
    return `Plan ${plan.plan} ${told}`;
  });
  const done = plan.moves.filter((move) => move.state === "done").length;
  const names = plan.frees.map((uuid) => state.gpus.find((gpu) => gpu.uuid === uuid)).map((gpu) => (gpu === undefined ? "a GPU" : `GPU ${gpu.index}`));
  return (
    <details open={open} onToggle={(event) => set_open(event.currentTarget.open)}>
      <summary>
        Plan {plan.plan}: {plan.kind}, {plan.state}, {done} of {plan.moves.length} moves done, by {plan.by}, begun {from_now(Date.parse(plan.begun_at))}
      </summary>
      {open && (
        <>
          {plan.why !== null && <p>{plan.why}</p>}
          <Facts moves={plan.moves} freed={names} expected_s={plan.expected_s} />
          <p class="weak">{plan.ended_at === null ? `It stops at ${clock(Date.parse(plan.until))} at the latest.` : `It ended at ${clock(Date.parse(plan.ended_at))}${plan.freed === null ? "" : `; ${plan.freed} of these GPUs were free then`}.`} Jobs that it does not move are drawn where they are now.</p>
          {acts && plan.ended_at === null && (
            <div class="tools">
              {plan.state === "paused"
                ? <button type="button" disabled={busy} onClick={() => change("resume", "goes on")}>Go on</button>
                : <button type="button" disabled={busy} onClick={() => change("pause", "is paused")}>Pause the plan</button>}
              <button type="button" class="danger" disabled={busy} onClick={() => change("cancel", "is being cancelled")}>Cancel the plan</button>
            </div>
          )}
          <Drawing moves={plan.moves} />
        </>
      )}
    </details>
  );
}
