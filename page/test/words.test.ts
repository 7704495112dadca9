import assert from "node:assert/strict";
import { test } from "node:test";
import { about_seeds, command_line, figure, number, percent, ratio_ticks, reserved, time, words } from "../src/parts/words";

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

test("seeds that make no difference are not called one seed", () => {
  assert.match(about_seeds(1, 1), /^With one seed: what differs/);
  assert.match(about_seeds(3, 1), /^The 3 seeds make no difference: nothing in these runs is random\./);
  assert.match(about_seeds(5, 4), /^Medians over the 4 of 5 seeds that make a difference;/);
  assert.match(about_seeds(21, 21), /^Medians over 21 seeds; below each/);
});

test("an axis of ratios is marked where labels have room", () => {
  assert.deepEqual(ratio_ticks(1.2), [0, 0.5, 1]);
  assert.deepEqual(ratio_ticks(2.4), [0, 0.5, 1, 1.5, 2]);
  assert.deepEqual(ratio_ticks(4), [0, 1, 2, 3, 4]);
  for (const most of [1.2, 3, 7, 12, 44, 300, 5000]) assert.ok(ratio_ticks(most).length <= 7, String(most));
});

test("a command can be pasted into a shell", () => {
  assert.equal(
    command_line(["cleave", "simulate", "--scheduler", "static:layout=best", "--x", "it's $HOME; a b"]),
    "cleave simulate --scheduler static:layout=best --x 'it'\\''s $HOME; a b'",
  );
});

test("reservations say for whom and until when", () => {
  const at = (text: string) => new Date(`2026-11-22T${text}:00`).toISOString();
  const now = Date.parse(at("15:00"));
  assert.equal(reserved("ann", at("14:00"), at("18:00"), now), "reserved for ann until 18:00");
  assert.equal(reserved("ann", at("16:00"), at("18:00"), now), "reserved for ann, 16:00 to 18:00");
  assert.equal(reserved("", at("14:00"), new Date("2026-11-25T08:30:00").toISOString(), now), "reserved until 11-25 08:30");
});
