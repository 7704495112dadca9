// The form that submits a job.

import { useState } from "preact/hooks";
import type { Job } from "../api/types";
import { Dialog } from "../parts/dialog";
import { model_of } from "../parts/slices";
import { send } from "./api";
import { useAction, usePage } from "./context";

/** Taken once, also where the answer was lost and the user tries again. */
function new_key(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

type Size = "unknown" | "memory" | "profile";

export function SubmitForm({ close }: { close: () => void }) {
  const { state, choose } = usePage();
  const [busy, act] = useAction();
  const [key, set_key] = useState(new_key);
  const [size, set_size] = useState<Size>("unknown");
  const profiles = [...new Set(state.gpus.flatMap((gpu) => model_of(gpu.model)?.profiles.map((each) => each.name) ?? []))];
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const body = {
      command: ["sh", "-c", text("command")],
      directory: text("directory"),
      environment: text("environment").split("\n").map((line) => line.trim()).filter((line) => line !== ""),
      ...(text("name") === "" ? {} : { name: text("name") }),
      ...(size === "memory" ? { memory_mib: Math.ceil(Number(text("memory")) * 1024) } : {}),
      ...(size === "profile" ? { profile: text("profile") } : {}),
      ...(form.get("restartable") === null ? {} : { restartable: true }),
      ...(text("minutes") === "" ? {} : { time_limit_s: Number(text("minutes")) * 60 }),
    };
    void act(async () => {
      const job = await send<Job>("POST", "/v1/jobs", body, { "Idempotency-Key": key });
      set_key(new_key());
      close();
      choose(job.id);
      return `Job ${job.id} is submitted`;
    });
  };
  return (
    <Dialog title="Submit a job" close={close}>
      <form onSubmit={submit} onInput={() => set_key(new_key())}>
        <label class="field">Command<textarea name="command" rows={3} required spellcheck={false} autofocus placeholder="python3 train.py" /><small>One or more lines that <code>sh</code> runs</small></label>
        <label class="field">Name<input name="name" autocomplete="off" /></label>
        <fieldset>
          <legend>Size</legend>
          {([["unknown", "not known: the smallest instance"], ["memory", "by memory"], ["profile", "a profile"]] as [Size, string][]).map(([value, words]) => (
            <label key={value}><input type="radio" name="size" checked={size === value} onChange={() => set_size(value)} /> {words}</label>
          ))}
          {size === "memory" && <label class="field">Memory in GiB<input name="memory" type="number" min="0.1" step="0.1" required /></label>}
          {size === "profile" && <label class="field">Profile<select name="profile">{profiles.map((name) => <option key={name}>{name}</option>)}</select></label>}
        </fieldset>
        <label class="line"><input type="checkbox" name="restartable" /> It may be stopped and run again, for example on a larger instance</label>
        <details>
          <summary>More</summary>
          <label class="field">Directory<input name="directory" required pattern="/.*" defaultValue="/tmp" spellcheck={false} /><small>An absolute path in which it starts</small></label>
          <label class="field">Environment<textarea name="environment" rows={3} spellcheck={false} defaultValue="PATH=/usr/local/bin:/usr/bin:/bin" /><small>The whole of it: NAME=value, one a line</small></label>
          <label class="field">Minutes for which it may run<input name="minutes" type="number" min="0" step="any" /></label>
        </details>
        <div class="tools"><button type="submit" class="primary" disabled={busy}>Submit</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Dialog>
  );
}
