// A chart of lines by uPlot, which follows the width of its place and the colours of the page.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { style_of } from "./colours";

export interface ChartLine {
  label: string;
  colour: string;
  values: readonly (number | null)[];
  /** The value in words, for the legend. */
  words: (value: number) => string;
  /** Dashes, so that lines can be told apart without colours. */
  dash?: number[];
  steps?: boolean;
}

interface Props {
  title: string;
  x: readonly number[];
  lines: ChartLine[];
  x_words: (value: number) => string;
  y_words: (value: number) => string;
  /** Ends of the vertical axis that are always shown. */
  range?: [number, number | null];
  logarithmic?: boolean;
  height?: number;
  /** Distances that marks of the horizontal axis may have. */
  x_steps?: number[];
}

/** In seconds. */
export const time_steps = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200,
  1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2592000, 7776000,
  31536000,
];

function axis(words: (value: number) => string, size: number): uPlot.Axis {
  return {
    stroke: () => style_of("--text-weak"),
    grid: { stroke: () => style_of("--grid"), width: 1 },
    ticks: { stroke: () => style_of("--grid"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
    size,
    values: (_, splits) => splits.map((value) => (value === null ? "" : words(value))),
  };
}

export function Chart({ title, x, lines, x_words, y_words, range, logarithmic, height, x_steps }: Props) {
  const place = useRef<HTMLDivElement>(null), drawn = useRef<uPlot | null>(null);
  const latest = useRef({ x_words, y_words, lines, range });
  latest.current = { x_words, y_words, lines, range };
  const data = () => [x as number[], ...lines.map((line) => line.values as number[])] as uPlot.AlignedData;
  const kind = lines.map((line) => `${line.label} ${line.colour} ${line.dash}`).join("|");
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const at = (value: number) => latest.current.x_words(value);
    const ends = (low: number, high: number): [number, number] => {
      const [least, most] = latest.current.range ?? [low, high];
      return [Math.min(least, low), most ?? (high > 0 ? high * 1.05 : 1)];
    };
    const options: uPlot.Options = {
      width: Math.max(element.clientWidth, 200),
      height: height ?? 200,
      scales: {
        x: logarithmic ? { time: false, distr: 3 } : { time: false },
        y: range ? { range: (_, low, high) => ends(low ?? 0, high ?? 1) } : {},
      },
      axes: [
        { ...axis(at, 28), space: 96, ...(x_steps ? { incrs: x_steps } : {}) },
        axis((value) => latest.current.y_words(value), 66),
      ],
      cursor: { drag: { x: true, y: false }, points: { size: 6 } },
      legend: { live: true },
      series: [
        { label: "at", value: (_, value) => (value === null ? "-" : at(value)) },
        ...lines.map((line, i): uPlot.Series => ({
          label: line.label,
          stroke: line.colour,
          width: 1.6,
          ...(line.dash ? { dash: line.dash } : {}),
          ...(line.steps && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
          points: { show: false },
          value: (_, value) => (value === null ? "-" : (latest.current.lines[i] ?? line).words(value)),
        })),
      ],
    };
    const chart = new uPlot(options, data(), element);
    drawn.current = chart;
    const watch = new ResizeObserver(() =>
      chart.setSize({ width: Math.max(element.clientWidth, 200), height: height ?? 200 }),
    );
    watch.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => chart.redraw();
    dark.addEventListener("change", redraw);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", redraw);
      chart.destroy();
      drawn.current = null;
    };
  }, [kind, logarithmic, height]);
  useEffect(() => drawn.current?.setData(data()), [x, lines]);
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div ref={place} role="img" aria-label={described(title, lines)} />
    </figure>
  );
}

/** For those who do not see the chart: where each line lies. */
function described(title: string, lines: ChartLine[]): string {
  const all = lines.map((line) => {
    const values = line.values.filter((value): value is number => value !== null);
    if (values.length === 0) return `${line.label}: nothing`;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
    return `${line.label}: mean ${line.words(mean)}, most ${line.words(most)}`;
  });
  return `${title}. ${all.join("; ")}.`;
}
