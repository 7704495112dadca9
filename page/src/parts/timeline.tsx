// Every slice of every GPU over time, to pan and zoom: jobs in their colours, idle instances
// hatched, others' grey, lost GPUs crossed out. Only what is in view is drawn.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Mark, Move, Timeline as Document } from "../report/document";
import { useCanvas } from "./canvas";
import { colour_of_job, style_of, text_on } from "./colours";
import { type Span, type Window, spans_by_gpu, time_marks, within, words_of, zoomed } from "./spans";
import { time } from "./words";

const name_width = 118, axis_height = 22, gap = 5;

interface Layout {
  slice: number;
  tops: number[];
  heights: number[];
  total: number;
}

function laid_out(document: Document, slice: number): Layout {
  const tops: number[] = [], heights: number[] = [];
  let total = 0;
  for (const gpu of document.gpus.all) {
    const model = document.gpus.models[typeof gpu === "number" ? gpu : gpu.model];
    const height = (model?.slices ?? 1) * slice;
    tops.push(total);
    heights.push(height);
    total += height + gap;
  }
  return { slice, tops, heights, total };
}

function hatched(colour: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  if (pen === null) return colour;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(-1, 7);
  pen.lineTo(7, -1);
  pen.stroke();
  return pen.createPattern(tile, "repeat") ?? colour;
}

class Drawing {
  constructor(
    private pen: CanvasRenderingContext2D,
    private width: number,
    private height: number,
    private layout: Layout,
    private scroll: number,
    private window: Window,
    private clock: (ms: number) => string,
  ) {}

  x(at: number): number {
    const share = (at - this.window.from) / (this.window.to - this.window.from);
    return name_width + share * (this.width - name_width);
  }
  y(gpu: number, slice: number): number {
    return axis_height + (this.layout.tops[gpu] ?? 0) + slice * this.layout.slice - this.scroll;
  }
  seen(gpu: number): boolean {
    const top = this.y(gpu, 0);
    return top < this.height && top + (this.layout.heights[gpu] ?? 0) > axis_height;
  }

  span(span: Span, chosen: string, idle: CanvasPattern | string) {
    const left = Math.max(this.x(span.begin), name_width), right = Math.min(this.x(span.end), this.width);
    const top = this.y(span.gpu, span.start), height = span.slices * this.layout.slice - 1;
    const width = Math.max(right - left, 0.75);
    const pen = this.pen;
    pen.globalAlpha = chosen !== "" && span.job !== chosen ? 0.18 : 1;
    switch (span.doing) {
      case "idle":
      case "creating":
        pen.fillStyle = span.doing === "idle" ? idle : style_of("--grid");
        pen.fillRect(left, top, width, height);
        break;
      case "wall":
        pen.fillStyle = style_of("--foreign");
        pen.fillRect(left, top, width, height);
        break;
      case "lost":
        pen.strokeStyle = style_of("--bad");
        pen.lineWidth = 1.5;
        pen.strokeRect(left + 1, top + 1, width - 2, height - 2);
        pen.beginPath();
        pen.moveTo(left, top);
        pen.lineTo(right, top + height);
        pen.moveTo(left, top + height);
        pen.lineTo(right, top);
        pen.stroke();
        break;
      default: {
        const colour = colour_of_job(span.job);
        pen.globalAlpha *= span.doing === "starting" ? 0.45 : 1;
        pen.fillStyle = colour;
        pen.fillRect(left, top, width, height);
        pen.globalAlpha = chosen !== "" && span.job !== chosen ? 0.3 : 1;
        if (width > 34 && height >= 11 && span.doing !== "starting") {
          pen.fillStyle = text_on(colour);
          pen.save();
          pen.beginPath();
          pen.rect(left, top, width - 2, height);
          pen.clip();
          pen.fillText(span.job, left + 3, top + height / 2 + 4);
          pen.restore();
        }
      }
    }
    pen.globalAlpha = 1;
  }

  move(move: Move) {
    if (!this.seen(move.from[0]) && !this.seen(move.to[0])) return;
    if (move.arrives_ms < this.window.from || move.left_ms > this.window.to) return;
    const middle = (place: [number, number, number]) => this.y(place[0], place[1] + place[2] / 2);
    const pen = this.pen;
    pen.strokeStyle = style_of("--text");
    pen.lineWidth = 1;
    pen.setLineDash([3, 2]);
    pen.beginPath();
    pen.moveTo(this.x(move.left_ms), middle(move.from));
    pen.lineTo(this.x(move.arrives_ms), middle(move.to));
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.arc(this.x(move.arrives_ms), middle(move.to), 2, 0, 7);
    pen.fillStyle = style_of("--text");
    pen.fill();
  }

  mark(mark: Mark) {
    if (mark.at_ms < this.window.from || mark.at_ms > this.window.to) return;
    if (mark.gpu !== undefined && !this.seen(mark.gpu)) return;
    const bad = ["failed", "rejected", "ran_out", "evicted", "gpu_lost"].includes(mark.what);
    const x = this.x(mark.at_ms), y = mark.gpu === undefined ? axis_height : this.y(mark.gpu, 0);
    const pen = this.pen;
    pen.fillStyle = style_of(bad ? "--bad" : "--text");
    pen.beginPath();
    pen.moveTo(x - 3.5, y - 5);
    pen.lineTo(x + 3.5, y - 5);
    pen.lineTo(x, y + 1);
    pen.fill();
  }

  axis() {
    const pen = this.pen;
    pen.fillStyle = style_of("--page");
    pen.fillRect(0, 0, this.width, axis_height);
    pen.fillStyle = style_of("--text-weak");
    pen.strokeStyle = style_of("--grid");
    for (const at of time_marks(this.window, Math.max((this.width - name_width) / 110, 2))) {
      pen.beginPath();
      pen.moveTo(this.x(at), axis_height - 4);
      pen.lineTo(this.x(at), this.height);
      pen.stroke();
      pen.fillText(this.clock(at), this.x(at) + 3, axis_height - 8);
    }
  }

  name(gpu: number, name: string) {
    const pen = this.pen;
    const top = this.y(gpu, 0);
    pen.fillStyle = style_of("--page");
    pen.fillRect(0, top - gap, name_width, (this.layout.heights[gpu] ?? 0) + gap);
    pen.fillStyle = style_of("--text");
    pen.fillText(name, 0, top + 12, name_width - 8);
  }
}

interface Props {
  document: Document;
  length: number;
  label: string;
  /** A moment in words; otherwise the time from the beginning. */
  clock?: (ms: number) => string;
}

const from_beginning = (ms: number) => time(ms / 1000);

export function Timeline({ document, length, label, clock = from_beginning }: Props) {
  const [window, set_window] = useState<Window>({ from: 0, to: length });
  const [scroll, set_scroll] = useState(0);
  const [chosen, set_chosen] = useState("");
  const [told, set_told] = useState<{ text: string; x: number; y: number } | null>(null);
  const spans = useMemo(() => spans_by_gpu(document), [document]);
  const slice = spans.length > 40 ? 5 : spans.length > 8 ? 8 : 13;
  const layout = useMemo(() => laid_out(document, slice), [document, slice]);
  const height = Math.min(layout.total + axis_height + 2, 560);
  const name_of = (gpu: number) => {
    const one = document.gpus.all[gpu];
    return one === undefined || typeof one === "number" ? `GPU ${gpu}` : one.name;
  };

  // What grows is followed as long as its end is in view.
  const seen = useRef(length);
  useEffect(() => {
    const before = seen.current;
    seen.current = length;
    if (length > before && window.to >= before)
      set_window({ from: window.from <= 0 ? 0 : window.from + length - before, to: length });
  }, [length]);

  const { canvas, frame, width } = useCanvas(height, (pen, width) => {
    const at = new Drawing(pen, width, height, layout, scroll, window, clock);
    const idle = hatched(style_of("--text-weak"));
    spans.forEach((of_gpu, gpu) => {
      if (!at.seen(gpu)) return;
      pen.fillStyle = style_of("--empty");
      pen.fillRect(name_width, at.y(gpu, 0), width - name_width, (layout.heights[gpu] ?? 0) - 1);
      for (const span of of_gpu) {
        if (span.begin > window.to) break;
        if (span.end >= window.from) at.span(span, chosen, idle);
      }
    });
    for (const move of document.moves) at.move(move);
    at.axis();
    for (const mark of document.marks) at.mark(mark);
    spans.forEach((_, gpu) => {
      if (at.seen(gpu)) at.name(gpu, name_of(gpu));
    });
    pen.fillStyle = style_of("--page");
    pen.fillRect(0, 0, name_width, axis_height);
  }, [window, scroll, chosen, document]);

  const moment_at = (x: number) =>
    window.from + ((x - name_width) / (width - name_width)) * (window.to - window.from);
  const found = (x: number, y: number): Span | null => {
    const at = y - axis_height + scroll;
    const gpu = layout.tops.findLastIndex((top) => top <= at);
    const slice_there = Math.floor((at - (layout.tops[gpu] ?? 0)) / layout.slice);
    const moment = moment_at(x);
    return (
      spans[gpu]?.findLast(
        (span) =>
          span.begin <= moment && moment < span.end &&
          span.start <= slice_there && slice_there < span.start + span.slices,
      ) ?? null
    );
  };
  const place_of = (event: MouseEvent): [number, number] => {
    const box = canvas.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };

  const dragged = useRef<{ x: number; y: number; window: Window; scroll: number; far: boolean } | null>(null);
  const most_scroll = Math.max(layout.total + axis_height - height + 2, 0);
  const scrolled = (to: number) => set_scroll(Math.min(Math.max(to, 0), most_scroll));
  const over = (event: PointerEvent) => {
    const [x, y] = place_of(event);
    const from = dragged.current;
    if (from !== null) {
      from.far = from.far || Math.abs(event.clientX - from.x) + Math.abs(event.clientY - from.y) > 4;
      const by = ((from.x - event.clientX) / (width - name_width)) * (from.window.to - from.window.from);
      set_window(within({ from: from.window.from + by, to: from.window.to + by }, length));
      scrolled(from.scroll + from.y - event.clientY);
      return set_told(null);
    }
    const span = x < name_width ? null : found(x, y);
    set_told(
      span === null
        ? null
        : {
            text: `${words_of(span)}, ${name_of(span.gpu)}, from ${clock(span.begin)} for ${time((span.end - span.begin) / 1000)}`,
            x: Math.min(x + 12, width - 260),
            y: y + 14,
          },
    );
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.shiftKey) {
      if (most_scroll === 0) return;
      event.preventDefault();
      return scrolled(scroll + event.deltaY);
    }
    event.preventDefault();
    set_window(zoomed(window, event.deltaY > 0 ? 1.25 : 0.8, moment_at(place_of(event)[0]), length));
  };
  const key = (event: KeyboardEvent) => {
    const step = (window.to - window.from) / 5, middle = (window.from + window.to) / 2;
    const to: Record<string, () => void> = {
      ArrowLeft: () => set_window(within({ from: window.from - step, to: window.to - step }, length)),
      ArrowRight: () => set_window(within({ from: window.from + step, to: window.to + step }, length)),
      ArrowUp: () => scrolled(scroll - 60),
      ArrowDown: () => scrolled(scroll + 60),
      "+": () => set_window(zoomed(window, 0.6, middle, length)),
      "-": () => set_window(zoomed(window, 1.6, middle, length)),
      "0": () => set_window({ from: 0, to: length }),
      Escape: () => set_chosen(""),
    };
    const act = to[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  const middle = (window.from + window.to) / 2;
  return (
    <div class="timeline">
      <div class="tools">
        <button type="button" aria-label="Zoom in" onClick={() => set_window(zoomed(window, 0.6, middle, length))}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => set_window(zoomed(window, 1.6, middle, length))}>&minus;</button>
        <button type="button" onClick={() => set_window({ from: 0, to: length })}>All</button>
        <label>
          Job{" "}
          <input
            type="search" list="jobs-of-timeline" value={chosen} placeholder="highlight one"
            onInput={(event) => set_chosen(event.currentTarget.value)}
          />
        </label>
        <span class="weak">
          Drag to move, Ctrl and the wheel to zoom; with the keyboard arrows, + and &minus;. Click a job to highlight it.
        </span>
      </div>
      <div
        class="frame" ref={frame} tabIndex={0} role="application" aria-label={`Timeline of ${label}: arrows move, + and - zoom`}
        onKeyDown={key}
      >
        <canvas
          ref={canvas} style={{ width: `${width}px`, height: `${height}px` }}
          onPointerDown={(event) => {
            canvas.current?.setPointerCapture(event.pointerId);
            dragged.current = { x: event.clientX, y: event.clientY, window, scroll, far: false };
          }}
          onPointerMove={over}
          onPointerUp={(event) => {
            const [x, y] = place_of(event);
            const far = dragged.current?.far ?? false;
            dragged.current = null;
            if (far || x < name_width) return;
            const span = found(x, y);
            set_chosen(span !== null && span.job !== "" && span.job !== chosen ? span.job : "");
          }}
          onPointerLeave={() => set_told(null)}
          onWheel={wheel}
        />
        {told !== null && (
          <div class="told" style={{ left: `${told.x}px`, top: `${told.y}px` }}>{told.text}</div>
        )}
      </div>
      <Legend />
      <datalist id="jobs-of-timeline">
        {(document.jobs ?? []).slice(0, 2000).map((job) => <option key={job} value={job} />)}
      </datalist>
      <AsTable spans={spans} window={window} chosen={chosen} name_of={name_of} clock={clock} />
    </div>
  );
}

function Legend() {
  return (
    <p class="legend">
      {[
        ["job", "a job, in its colour"],
        ["starting", "starting"],
        ["idle", "idle instance"],
        ["creating", "being made"],
        ["foreign", "not ours"],
        ["lost", "GPU lost"],
      ].map(([kind, words]) => (
        <span class="entry" key={kind}><span class={`swatch ${kind}`} /> {words}</span>
      ))}
      <span class="entry">&#9662; restarted, stopped, failed or lost</span>
      <span class="entry">&#8943;&bull; moved</span>
    </p>
  );
}

/** The same for those who do not see the drawing. */
function AsTable(props: { spans: Span[][]; window: Window; chosen: string; name_of: (gpu: number) => string; clock: (ms: number) => string }) {
  const [open, set_open] = useState(false);
  const { spans, window, chosen, name_of, clock } = props;
  const most = 200;
  const shown = !open
    ? []
    : spans
        .flat()
        .filter((span) => span.end >= window.from && span.begin <= window.to && (chosen === "" || span.job === chosen))
        .sort((a, b) => a.begin - b.begin || a.gpu - b.gpu);
  return (
    <details onToggle={(event) => set_open(event.currentTarget.open)}>
      <summary>What is in view, as a table</summary>
      {open && (
        <table>
          <thead>
            <tr><th>from</th><th>for</th><th>GPU</th><th>what</th></tr>
          </thead>
          <tbody>
            {shown.slice(0, most).map((span, i) => (
              <tr key={i}>
                <td>{clock(span.begin)}</td>
                <td>{time((span.end - span.begin) / 1000)}</td>
                <td>{name_of(span.gpu)}</td>
                <td>{words_of(span)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {shown.length > most && <p>{shown.length - most} more: zoom in, or highlight a job.</p>}
    </details>
  );
}
