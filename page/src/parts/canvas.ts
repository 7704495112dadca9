// A canvas as wide as its place, sharp on every screen, drawn again when what it depends on, its
// width or the page's colours change.

import { useEffect, useRef, useState } from "preact/hooks";

type Draw = (pen: CanvasRenderingContext2D, width: number) => void;

export function useCanvas(height: number, draw: Draw, on: readonly unknown[]) {
  const canvas = useRef<HTMLCanvasElement>(null), frame = useRef<HTMLDivElement>(null);
  const [width, set_width] = useState(800);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => set_width(Math.max(element.clientWidth, 300)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const drawn = () => {
    const pen = canvas.current?.getContext("2d");
    if (canvas.current === null || !pen) return;
    const density = devicePixelRatio || 1;
    canvas.current.width = width * density;
    canvas.current.height = height * density;
    pen.scale(density, density);
    pen.font = "11px system-ui, sans-serif";
    draw(pen, width);
  };
  useEffect(drawn, [width, height, ...on]);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", drawn);
    return () => dark.removeEventListener("change", drawn);
  });
  return { canvas, frame, width };
}
