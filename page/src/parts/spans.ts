// The spans of a timeline, unpacked: by GPU, in order of their begins.

import type { Spans, Timeline } from "../report/document";

export interface Span {
  gpu: number;
  start: number;
  slices: number;
  profile: string;
  doing: string;
  /** A job's name, "3 jobs", or nothing. */
  job: string;
  begin: number;
  end: number;
}

export function spans_by_gpu(timeline: Timeline): Span[][] {
  const all: Span[][] = timeline.gpus.all.map(() => []);
  const columns: Spans | undefined = timeline.spans;
  if (columns === undefined) return all;
  let begin = 0;
  for (let i = 0; i < columns.gpu.length; ++i) {
    begin += columns.after_ms[i] ?? 0;
    const job = columns.job[i] ?? null;
    all[columns.gpu[i] ?? 0]?.push({
      gpu: columns.gpu[i] ?? 0,
      start: columns.start[i] ?? 0,
      slices: columns.slices[i] ?? 1,
      profile: timeline.profiles?.[columns.profile[i] ?? 0] ?? "",
      doing: timeline.doings?.[columns.doing[i] ?? 0] ?? "",
      job: job === null ? "" : job < 0 ? `${-job} jobs` : (timeline.jobs?.[job] ?? ""),
      begin,
      end: begin + (columns.length_ms[i] ?? 0),
    });
  }
  for (const each of all) each.sort((a, b) => a.begin - b.begin);
  return all;
}

/** What a span shows, in words. */
export function words_of(span: Span): string {
  switch (span.doing) {
    case "creating":
      return `${span.profile} is being made`;
    case "idle":
      return `${span.profile}, idle`;
    case "starting":
      return `${span.job} starts on ${span.profile}`;
    case "wall":
      return `${span.profile}, not ours`;
    case "lost":
      return "the GPU is lost";
    default:
      return `${span.job} on ${span.profile}`;
  }
}

/** The part of time that is shown. */
export interface Window {
  from: number;
  to: number;
}

/** As much of the whole as there is, and not less than a hundredth of a second. */
export function within(window: Window, length: number): Window {
  const width = Math.min(Math.max(window.to - window.from, 10), Math.max(length, 10));
  const from = Math.min(Math.max(window.from, 0), Math.max(length - width, 0));
  return { from, to: from + width };
}

/** By this factor around this moment. */
export function zoomed(window: Window, factor: number, around: number, length: number): Window {
  return within(
    { from: around - (around - window.from) * factor, to: around + (window.to - around) * factor },
    length,
  );
}

/** Round steps for an axis of time: at most `most` marks. */
export function time_marks(window: Window, most: number): number[] {
  const steps = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 18e5,
    36e5, 72e5, 144e5, 216e5, 432e5, 864e5, 1728e5, 6048e5,
  ];
  let step = steps.find((each) => (window.to - window.from) / each <= most) ?? 6048e5;
  while ((window.to - window.from) / step > most) step *= 2;
  const marks = [];
  for (let at = Math.ceil(window.from / step) * step; at <= window.to; at += step) marks.push(at);
  return marks;
}
