// A plan: the GPUs that change before and after, with what moves between them.

import { useState } from "preact/hooks";
import type { Plan } from "./document";
import { PlanDrawing, WaveChoice } from "../parts/plan_drawing";
import { number } from "../parts/words";

/** Rows that are drawn at first. */
const most_rows = 40;

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
            <WaveChoice waves={plan.waves} wave={wave} choose={set_wave} />
            <span class="weak">Left what is there now, right what will be. Point at a workload to follow it.</span>
          </div>
          <PlanDrawing gpus={shown} trips={plan.trips} chosen={chosen} choose={set_chosen} wave={wave} />
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

