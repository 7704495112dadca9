// Numbers and times in words, as Cleave's programs write them.

/** "18 h 05 min", "3 min 20 s", "1.4 s" */
export function time(seconds: number): string {
  if (!Number.isFinite(seconds)) return "-";
  if (seconds === 0) return "0";
  if (seconds < 0) return `-${time(-seconds)}`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const whole = Math.round(seconds);
  if (whole < 3600)
    return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(seconds / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** "12.5 %" */
export function percent(share: number): string {
  const value = share * 100;
  return `${Math.abs(value) < 10 && value !== 0 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** In at most four digits, large ones whole. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return value.toPrecision(3).replace(/(\.\d*?)0+($|e)/, "$1$2").replace(/\.($|e)/, "$1");
}

/** "compute_utilization" as "compute utilization", without its unit. */
export function words(figure: string): string {
  return figure.replace(/_(jobs_per_s|s|j|w)$/, "").replaceAll("_", " ");
}

/** A figure's value in its unit, which its name ends with. */
export function figure(name: string, value: number): string {
  if (name.endsWith("_jobs_per_s")) return `${number(value * 3600)} jobs an hour`;
  if (name.endsWith("_s")) return time(value);
  if (name.endsWith("_j")) return `${number(value / 3.6e6)} kWh`;
  if (name.endsWith("_w")) return `${number(value)} W`;
  if (name.includes("utilization")) return percent(value);
  return number(value);
}

/** How a shell takes the words as they are. */
export function command_line(command: readonly string[]): string {
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** What a comparison's figures are of: with how many seeds, and how many of these differ. */
export function about_seeds(seeds: number, distinct: number): string {
  if (seeds === 1) return "With one seed: what differs here may be chance.";
  if (distinct === 1)
    return `The ${seeds} seeds make no difference: nothing in these runs is random. They are of one sequence of jobs, and what differs may be its chance.`;
  const range = "below each the range that half of the seeds are in, or with fewer than eight the lowest and the highest.";
  return distinct < seeds
    ? `Medians over the ${distinct} of ${seeds} seeds that make a difference; ${range}`
    : `Medians over ${seeds} seeds; ${range}`;
}

/** Where an axis of ratios from 0 to `most` is marked: at 1, and at most six times. */
export function ratio_ticks(most: number): number[] {
  const step = [0.5, 1, 2, 5, 10, 20, 50, 100].find((each) => most / each <= 5) ?? most / 4;
  const ticks = [0];
  for (let value = step; value <= most; value += step) ticks.push(value);
  // Between 0 and a wide step there is room for it.
  return step > 1 && most / step < 5 && 1 / step >= 0.2 ? [0, 1, ...ticks.slice(1)] : ticks;
}

/** "18:00", on another day than `now` "11-22 18:00". */
function time_near(at: Date, now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.toDateString() === now.toDateString() ? time : `${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** "reserved for ann until 18:00", or "reserved for ann, 14:00 to 18:00" where it begins later; of nobody without a name. */
export function reserved(name: string, from: string | null, until: string | null, now: number): string {
  const said = name === "" ? "reserved" : `reserved for ${name}`;
  if (from === null || until === null) return said;
  const end = time_near(new Date(until), new Date(now));
  return Date.parse(from) <= now ? `${said} until ${end}` : `${said}, ${time_near(new Date(from), new Date(now))} to ${end}`;
}
