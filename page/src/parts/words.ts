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
