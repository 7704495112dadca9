// Colours that people with any kind of colour vision can tell apart, in light and dark.

/** Twelve hues in two lightnesses; a job's is drawn from its name, so that it is the same on every
 *  page. */
const of_jobs = [
  "#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77",
  "#cc6677", "#882255", "#aa4499", "#5588cc", "#ee9955", "#66aa55",
];

/** A number from a text, the same everywhere (FNV-1a). */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i)
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}

/** A name that begins with a job's number has that of the number: neighbours differ. */
export function colour_of_job(name: string): string {
  const number = /^\d+/.exec(name);
  if (number !== null) return of_jobs[(Number(number[0]) * 7) % of_jobs.length] ?? "#888888";
  return of_jobs[hash(name) % of_jobs.length] ?? "#888888";
}

/** Of schedulers and lines in charts, in their order. */
const of_lines = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f6fd0", "#8a8a00"];
export function colour_of_line(place: number): string {
  return of_lines[place % of_lines.length] ?? "#888888";
}

/** Dark or light, whichever stands out more (WCAG's contrast of relative luminances). */
export function text_on(colour: string): string {
  const part = (at: number) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  // Equal contrast to #111111 and to #ffffff: (light + 0.05)² = 1.05 · 0.0556.
  return light > 0.1916 ? "#111111" : "#ffffff";
}

/** From nothing held to all held. */
export function heat(share: number): string {
  const stops: [number, number, number][] = [
    [68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37],
  ];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = stops[Math.floor(at)] ?? stops[0]!, high = stops[Math.ceil(at)] ?? low;
  const mix = (i: 0 | 1 | 2) => Math.round(low[i] + (high[i] - low[i]) * (at - Math.floor(at)));
  return `rgb(${mix(0)} ${mix(1)} ${mix(2)})`;
}

/** What the page's styles say now. */
export function style_of(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
