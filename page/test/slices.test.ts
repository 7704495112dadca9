import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gpu } from "../src/api/types";
import { fragmentation, held_by_jobs, model_of, pieces_of, room_on, unusable } from "../src/parts/slices";

/** "4g.20gb@0=7,1g.5gb@4,3g.20gb@4!": a job's number behind =, ! not ours. */
function gpu(layout: string, model = "NVIDIA A100-SXM4-40GB"): Gpu {
  const instances = layout === "" ? [] : layout.split(",").map((text) => {
    const [, profile = "", start = "0", job, foreign] = /^([^@]+)@(\d+)(?:=(\d+))?(!)?$/.exec(text) ?? [];
    return {
      gpu: "GPU-0", gpu_index: 0, device: "", profile, start: Number(start), owner: foreign ? "foreign" as const : "ours" as const,
      jobs: job === undefined ? [] : [Number(job)], held: job !== undefined, used_mib: 0, total_mib: 4864, energy_j: null, activity: null, processes: [],
      claim: null as string | null, claim_holder: null as string | null,
    };
  });
  return {
    index: 0, uuid: "GPU-0", model, managed: true, mig: true, drained: false, lost: false, trouble: "",
    power_w: 100, energy_j: 0, layout, instances, reserved_for: null, reserved_from: null, reserved_until: null,
  };
}

function seen(layout: string, model?: string) {
  const one = gpu(layout, model), of = model_of(one.model);
  assert(of);
  const pieces = pieces_of(one, of);
  const room = room_on(of, pieces);
  const fits = room.map((each) => `${each.profile.name} ${each.by_position}/${each.by_size}`);
  return { fits, fragmentation: fragmentation(room), lost: unusable(of, pieces), held: held_by_jobs(of, pieces), pieces };
}

test("an empty GPU has room for the whole", () => {
  const { fits, lost, fragmentation } = seen("");
  assert.equal(fits[0], "7g.40gb 1/1");
  assert.equal(fits[2], "3g.20gb 2/2");
  assert.deepEqual(lost, { memory: [], compute: [] });
  // As Cleave says of it: starts of 1g.10gb, 2g.10gb and 3g.20gb are as many as fit by size.
  assert.equal(fragmentation, 0);
});

test("what fits by size and not by position", () => {
  const { fits, fragmentation } = seen("1g.5gb@1=5,1g.5gb@5=6");
  assert.equal(fits.find((each) => each.startsWith("3g.20gb")), "3g.20gb 0/1");
  assert.equal(fits.find((each) => each.startsWith("4g.20gb")), "4g.20gb 0/1");
  assert(fragmentation > 0);
});

test("idle instances make way, others' do not", () => {
  assert.equal(seen("3g.20gb@4").fits[0], "7g.40gb 1/1");
  assert.equal(seen("3g.20gb@4!").fits[0], "7g.40gb 0/0");
  assert.deepEqual(seen("3g.20gb@4!").pieces.map((piece) => piece.kind), ["foreign"]);
});

test("what another engine claims does not make way", () => {
  const one = gpu("3g.20gb@4"), of = model_of(one.model);
  assert(of);
  for (const [key, holder, words] of [["slurm:12", "job 12 of ann", "claim slurm:12 (job 12 of ann)"], ["", "", "a claim of another engine"]] as const) {
    for (const instance of one.instances) Object.assign(instance, { claim: key, claim_holder: holder });
    const pieces = pieces_of(one, of);
    assert.deepEqual(pieces.map((piece) => [piece.kind, piece.claim]), [["claim", words]]);
    assert.equal(room_on(of, pieces)[0]?.by_position, 0);
    assert.equal(held_by_jobs(of, pieces).memory, 0.5);
  }
});

test("the fourth compute slice below a 3g is of no use", () => {
  assert.deepEqual(seen("3g.20gb@0=1,3g.20gb@4=2").lost, { memory: [], compute: [3] });
  assert.deepEqual(seen("4g.20gb@0=1,3g.20gb@4=2").lost, { memory: [], compute: [] });
});

test("a memory slice at the end may be out of reach", () => {
  assert.deepEqual(seen("4g.20gb@0=1,2g.10gb@4=2,1g.5gb@6=3").lost.memory, [7]);
});

test("GPUs of twelve memory slices", () => {
  const { fits, lost, held } = seen("1g.24gb@3=9", "NVIDIA RTX PRO 6000 Blackwell Server Edition");
  assert.equal(fits[0], "4g.96gb 0/0");
  assert.equal(fits[1], "2g.48gb 1/1");
  assert.deepEqual(lost, { memory: [], compute: [] });
  assert.equal(held.compute, 0.25);
});
