// Moments in the words of the reader's clock.

import { time } from "../parts/words";

const two = (value: number) => String(value).padStart(2, "0");

/** "14:03:07", with the day where it is not today's. */
export function clock(ms: number): string {
  const at = new Date(ms), today = new Date();
  const day = at.toDateString() === today.toDateString() ? "" : `${two(at.getMonth() + 1)}-${two(at.getDate())} `;
  return `${day}${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export const clock_s = (seconds: number) => clock(seconds * 1000);

/** "3 min 20 s ago", "in 5.0 s" */
export function from_now(ms: number): string {
  const by = (ms - Date.now()) / 1000;
  if (Math.abs(by) < 1) return "now";
  return by < 0 ? `${time(-by)} ago` : `in ${time(by)}`;
}

/** How long since, or until, or nothing. */
export const since = (moment: string | null) =>
  moment === null ? "-" : time(Math.max((Date.now() - Date.parse(moment)) / 1000, 0));
