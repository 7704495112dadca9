import assert from "node:assert/strict";
import { test } from "node:test";
import { colour_of_job, text_on } from "../src/parts/colours";
import { share_within } from "../src/parts/shares";
import { spans_by_gpu, time_marks, within, words_of, zoomed } from "../src/parts/spans";
import type { Timeline } from "../src/report/document";

const timeline: Timeline = {
  gpus: { models: [{ name: "A30", compute: 4, slices: 4 }], all: [{ name: "n0/0", model: 0 }, { name: "n0/1", model: 0 }] },
  marks: [],
  moves: [],
  profiles: ["2g.12gb", "whole GPU"],
  doings: ["creating", "idle", "starting", "running", "wall", "resident", "lost"],
  jobs: ["<b>a</b>", "b"],
  spans: {
    gpu: [0, 0, 1], start: [0, 2, 0], slices: [2, 2, 4], compute: [2, 2, 4], profile: [0, 0, 1],
    doing: [3, 1, 3], job: [1, null, -3], after_ms: [100, 0, -50], length_ms: [10, 20, 30],
  },
};

test("spans are unpacked from their columns", () => {
  const [first, second] = spans_by_gpu(timeline);
  assert.deepEqual(first?.map((span) => [span.begin, span.end, span.job]), [[100, 110, "b"], [100, 120, ""]]);
  assert.equal(second?.[0]?.begin, 50);
  assert.equal(second?.[0]?.job, "3 jobs");
  assert.equal(words_of(first![0]!), "b on 2g.12gb");
  assert.equal(words_of(first![1]!), "2g.12gb, idle");
});

test("a window stays within the run, whatever is zoomed or moved", () => {
  assert.deepEqual(within({ from: -50, to: 50 }, 1000), { from: 0, to: 100 });
  assert.deepEqual(within({ from: 990, to: 1090 }, 1000), { from: 900, to: 1000 });
  assert.deepEqual(within({ from: -1e6, to: 1e6 }, 1000), { from: 0, to: 1000 });
  const close = zoomed({ from: 0, to: 1000 }, 0.5, 200, 1000);
  assert.deepEqual(close, { from: 100, to: 600 });
  let deep = { from: 0, to: 1000 };
  for (let i = 0; i < 100; ++i) deep = zoomed(deep, 0.5, 500, 1000);
  assert.ok(deep.to - deep.from >= 9.99);
});

test("marks of time are round and few", () => {
  for (const length of [5, 1e3, 7e4, 4e6, 1e9, 1e12]) {
    const marks = time_marks({ from: 0, to: length }, 8);
    assert.ok(marks.length <= 9 && marks.length >= 2, `${length}: ${marks.length}`);
  }
});

test("the share within a value is read from quantiles", () => {
  const shares = [0, 0.5, 1];
  assert.equal(share_within([1, 2, 4], shares, 0.5), 0);
  assert.equal(share_within([1, 2, 4], shares, 1), 0);
  assert.equal(share_within([1, 2, 4], shares, 3), 0.5);
  assert.equal(share_within([1, 2, 4], shares, 4), 1);
});

test("a job keeps its colour, and can be read on it", () => {
  assert.equal(colour_of_job("train-1"), colour_of_job("train-1"));
  for (const job of ["a", "b", "c", "train-17"]) assert.match(text_on(colour_of_job(job)), /^#/);
});
