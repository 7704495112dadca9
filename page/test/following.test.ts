import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, Gpu, Job, ListedJob, PlannedMove } from "../src/api/types";
import { events_in } from "../src/live/api";
import { drawn, frees, order_in } from "../src/live/planned";
import { Recorder } from "../src/live/recorder";
import { type Sample, rate_of_ends, with_sample } from "../src/live/samples";
import type { Piece } from "../src/parts/slices";

const model = "NVIDIA A100-SXM4-40GB";
const gpu = (index: number): Gpu => ({
  index, uuid: `GPU-${index}`, model, managed: true, mig: true, drained: false, lost: false, trouble: "",
  power_w: null, energy_j: null, layout: "", instances: [], reserved_for: null, reserved_from: null, reserved_until: null,
});
const piece = (profile: string, start: number, memory: number, job?: number): Piece => ({
  kind: job === undefined ? "idle" : "job", profile, start, memory, compute: memory, claim: null, jobs: job === undefined ? [] : [job], used_mib: null, total_mib: null,
});
const place = (index: number, profile: string, start: number) => ({ gpu: `GPU-${index}`, profile, start });

test("events are taken whole, and what is left waits for more", () => {
  const taken: Event[] = [];
  const first = 'id: 1\nevent: a-new-kind\ndata: {"id":1,"kind":"a-new-kind"}\n\n: still here\n\nid: 2\nda';
  const rest = events_in(first, (event) => taken.push(event));
  assert.equal(rest, "id: 2\nda");
  assert.equal(events_in(`${rest}ta: {"id":2}\n\n`, (event) => taken.push(event)), "");
  assert.deepEqual(taken.map((event) => event.id), [1, 2]);
});

test("ends as a rate, of what is known", () => {
  assert.equal(rate_of_ends([100, 400, 900, 1000], 1000, 0), 12);
  assert.equal(rate_of_ends([950], 1000, 900), 36);
  assert.equal(rate_of_ends([], 1000, 0), 0);
});

test("many samples are thinned where they are old", () => {
  let all: Sample[] = [];
  for (let at = 0; at < 10_000; ++at)
    all = with_sample(all, { at, running: 0, waiting: 0, compute: 0, memory: 0, used: null, fragmentation: 0, power_w: null, energy_j: null, ended_per_h: 0 });
  assert(all.length <= 3000);
  assert.equal(all[0]?.at, 0);
  assert.equal(all.at(-1)?.at, 9999);
  assert.equal(all.at(-2)?.at, 9998);
});

test("stays on slices are recorded from look to look", () => {
  const recorder = new Recorder(10_000);
  const job = { id: 3, name: "train", state: "running", started_at: new Date(4000).toISOString() } as ListedJob;
  const jobs = new Map([[3, job]]);
  recorder.look([gpu(0)], new Map([["GPU-0", [piece("2g.10gb", 0, 2, 3)]]]), jobs, 10_000);
  recorder.look([gpu(0)], new Map([["GPU-0", [piece("2g.10gb", 0, 2)]]]), jobs, 12_000);
  recorder.look([gpu(0)], new Map([["GPU-0", []]]), jobs, 15_000);
  const { timeline, begin, length } = recorder.document(60_000);
  assert.equal(begin, 4000, "what ran before the page looked began when it did");
  assert.equal(length, 11_000);
  assert.deepEqual(timeline.jobs, ["3 train"]);
  assert.deepEqual(timeline.spans?.length_ms, [8000, 3000]);
  assert.deepEqual(timeline.spans?.after_ms, [0, 8000]);
  assert.deepEqual(timeline.spans?.job, [0, null]);
});

test("attempts from before the page looked, with a move and a restart", () => {
  const recorder = new Recorder(20_000);
  recorder.look([gpu(0), gpu(1)], new Map([["GPU-1", [piece("3g.20gb", 4, 4, 7)]]]), new Map(), 20_000);
  const at = (ms: number) => new Date(ms).toISOString();
  const job = {
    id: 7, name: "", history: [
      { attempt: 1, instance: { ...place(0, "1g.5gb", 6), gpu_index: 0, device: "" }, started_at: at(1000), began_at: at(2000), ended_at: at(9000), end: "early-restart" },
      { attempt: 2, instance: { ...place(1, "3g.20gb", 4), gpu_index: 1, device: "" }, started_at: at(9500), began_at: at(10_000), ended_at: null, end: null },
    ],
  } as unknown as Job;
  recorder.history(job);
  recorder.history(job);
  const { timeline } = recorder.document(60_000);
  assert.equal(timeline.marks.length, 1);
  assert.equal(timeline.marks[0]?.what, "restarted");
  assert.deepEqual(timeline.moves, [{ from: [0, 6, 1], left_ms: 7000, to: [1, 4, 4], arrives_ms: 8000 }]);
});

test("a plan is GPUs before and after", () => {
  const moves: PlannedMove[] = [{ wave: 1, job: 5, from: place(0, "2g.10gb", 2), to: place(1, "2g.10gb", 0) }];
  const pieces = new Map([["GPU-0", [piece("2g.10gb", 2, 2, 5), piece("1g.5gb", 6, 1)]], ["GPU-1", [piece("3g.20gb", 4, 4, 6)]]]);
  const named = { label: (job: number) => `${job}`, state: () => "running" };
  const plan = drawn(moves, [gpu(0), gpu(1), gpu(2)], pieces, named);
  assert.deepEqual(plan.gpus.map((each) => each.name), ["GPU 0", "GPU 1"]);
  assert.deepEqual(plan.gpus[0]?.before, [[2, 2, "2g.10gb", "5", "stops", 0]]);
  assert.deepEqual(plan.gpus[0]?.after, []);
  assert.deepEqual(plan.gpus[1]?.after.map(([start, , , name]) => [start, name]), [[0, "5"], [4, "6"]]);
  assert.deepEqual(frees(moves, [gpu(0), gpu(1), gpu(2)], pieces).map((each) => each.index), [0]);
});

test("a file that is not a plan is refused with its reason", () => {
  assert.equal(order_in("{"), "the file is not JSON");
  assert.match(String(order_in("{}")), /not a plan/);
  assert.match(String(order_in("null")), /not a plan/);
  assert.match(String(order_in('{"kind":"compact","moves":[{"job":1}]}')), /a move/);
  assert.equal(typeof order_in('{"kind":"compact","moves":[]}'), "object");
});
