// How much of their compute slices groups of GPUs hold over time: of runs with more spans than a
// timeline can draw.

import { useState } from "preact/hooks";
import type { Timeline } from "../report/document";
import { useCanvas } from "./canvas";
import { heat, style_of } from "./colours";
import { time_marks } from "./spans";
import { percent, time } from "./words";

const name_width = 118, axis_height = 20;

export function Heat({ document, label }: { document: Timeline; label: string }) {
  const [told, set_told] = useState("");
  const rows = document.rows ?? [], step = document.step_ms ?? 1;
  const parts = rows.reduce((most, row) => Math.max(most, row.held.length), 1);
  const row_height = Math.max(4, Math.min(16, 480 / Math.max(rows.length, 1)));
  const height = rows.length * row_height + axis_height;
  const name = (row: { first: number; last: number }) =>
    row.first === row.last ? `GPU ${row.first}` : `GPUs ${row.first} to ${row.last}`;
  const { canvas, frame, width } = useCanvas(height, (pen, width) => {
    const column = (width - name_width) / parts;
    rows.forEach((row, y) => {
      row.held.forEach((share, x) => {
        pen.fillStyle = heat(share);
        pen.fillRect(name_width + x * column, axis_height + y * row_height, column + 0.5, row_height + 0.5);
      });
      if (y % Math.ceil(14 / row_height) === 0) {
        pen.fillStyle = style_of("--text");
        pen.fillText(name(row), 0, axis_height + y * row_height + 10, name_width - 8);
      }
    });
    pen.fillStyle = style_of("--text-weak");
    for (const at of time_marks({ from: 0, to: parts * step }, 7))
      pen.fillText(time(at / 1000), name_width + (at / (parts * step)) * (width - name_width), 12);
  }, [document]);
  return (
    <div class="timeline">
      <div class="frame" ref={frame}>
        <canvas
          ref={canvas} role="img" style={{ width: `${width}px`, height: `${height}px` }}
          aria-label={`How much of their compute slices the GPUs hold over time under ${label}`}
          onPointerMove={(event) => {
            const box = canvas.current?.getBoundingClientRect();
            const x = event.clientX - (box?.left ?? 0) - name_width, y = event.clientY - (box?.top ?? 0) - axis_height;
            const row = rows[Math.floor(y / row_height)], part = Math.floor((x / (width - name_width)) * parts);
            const share = row?.held[part];
            set_told(
              row === undefined || share === undefined
                ? ""
                : `${name(row)} at ${time((part * step) / 1000)}: ${percent(share)} of their compute slices held`,
            );
          }}
        />
      </div>
      <p class="legend">
        <span class="scale" /> 0 to 100 % of the compute slices held {told !== "" && <>&nbsp;· {told}</>}
      </p>
      <p class="weak">The run has more instances and jobs than can be drawn one by one; each row is a part of the fleet.</p>
    </div>
  );
}
