// A modal dialog: the browser keeps the focus in it, Escape closes it, and the focus returns.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  title: string;
  close: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, close, children }: Props) {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    place.current?.showModal();
    return () => { if (before instanceof HTMLElement) before.focus(); };
  }, []);
  return (
    <dialog ref={place} aria-labelledby="dialog-title" onCancel={(event) => { event.preventDefault(); close(); }}>
      <div class="dialog-head">
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="close" aria-label="Close" onClick={close}>&times;</button>
      </div>
      {children}
    </dialog>
  );
}
