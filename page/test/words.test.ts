import assert from "node:assert/strict";
import { test } from "node:test";
import { command_line, figure, number, percent, time, words } from "../src/parts/words";

test("times are as Cleave's programs write them", () => {
  const known: [number, string][] = [
    [0, "0"], [0.25, "250 ms"], [1.4, "1.4 s"], [59.9, "59.9 s"], [59.96, "1 min 00 s"],
    [200, "3 min 20 s"], [65100, "18 h 05 min"], [200000, "2 d 8 h"],
    [-90, "-1 min 30 s"],
  ];
  for (const [seconds, text] of known) assert.equal(time(seconds), text);
  assert.equal(time(3599.7), "1 h 00 min");
});

test("numbers have at most four digits that count", () => {
  assert.equal(number(12345), "12,345");
  assert.equal(number(7.5), "7.5");
  assert.equal(number(0.12345), "0.123");
  assert.equal(number(1234.5), "1,235");
  assert.equal(percent(0.985), "99 %");
  assert.equal(percent(0.0123), "1.2 %");
  assert.equal(percent(0), "0 %");
});

test("figures are in the unit that their names end with", () => {
  assert.equal(figure("makespan_s", 64529), "17 h 55 min");
  assert.equal(figure("throughput_jobs_per_s", 0.0031), "11.2 jobs an hour");
  assert.equal(figure("energy_j", 3.6e6), "1 kWh");
  assert.equal(figure("compute_utilization", 0.98), "98 %");
  assert.equal(words("turnaround_mean_s"), "turnaround mean");
  assert.equal(words("throughput_jobs_per_s"), "throughput");
});

test("a command can be pasted into a shell", () => {
  assert.equal(
    command_line(["cleave", "simulate", "--scheduler", "static:layout=best", "--x", "it's $HOME; a b"]),
    "cleave simulate --scheduler static:layout=best --x 'it'\\''s $HOME; a b'",
  );
});
