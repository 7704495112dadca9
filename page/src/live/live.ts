// What the page knows, and how it stays so: events say that something changed, and then the state
// is asked for again, not more often than the daemon answers quickly.

import type { Event, Gpu, Job, ListedJob, Plan, Status } from "../api/types";
import { type Piece, fragmentation, held_by_jobs, model_of, pieces_of, room_on } from "../parts/slices";
import { Failed, type Session, follow, get, session } from "./api";
import { Recorder, label_of } from "./recorder";
import { type Sample, rate_of_ends, with_sample } from "./samples";

export type Connection =
  | { is: "connecting" }
  | { is: "live"; since: number }
  | { is: "lost"; since: number; again: number }
  /** Without a session: a token that was refused, an expired one, none. */
  | { is: "locked"; told: string };

export interface State {
  connection: Connection;
  session: Session | null;
  status: Status | null;
  gpus: Gpu[];
  pieces: Map<string, Piece[]>;
  jobs: ListedJob[];
  ended: ListedJob[];
  plans: Plan[];
  events: Event[];
  samples: Sample[];
  /** When the daemon was found to be another process. */
  restarted_at: number | null;
  /** Counts looks, so that what is recorded elsewhere is drawn again. */
  looks: number;
}

const often_ms = 1000, seldom_ms = 5000, hidden_ms = 60_000, most_events = 500, most_ended = 200;
export const most_listed = 1000;

export class Live {
  state: State = {
    connection: { is: "connecting" }, session: null, status: null, gpus: [], pieces: new Map(), jobs: [], ended: [],
    plans: [], events: [], samples: [], restarted_at: null, looks: 0,
  };
  readonly recorder = new Recorder(Date.now());
  private heard: (() => void)[] = [];
  private last_event: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private due = Infinity;
  private next_allowed = 0;
  private looking = false;
  private ended_due = true;
  private plans_due = true;
  private stream: AbortController | null = null;
  private wake: (() => void) | null = null;
  private all_users = false;
  private histories: number[] = [];

  subscribe(on_change: () => void): () => void {
    this.heard.push(on_change);
    return () => (this.heard = this.heard.filter((each) => each !== on_change));
  }

  private set(change: Partial<State>) {
    this.state = { ...this.state, ...change };
    for (const each of this.heard) each();
  }

  /** Of all users, which only operators may ask for. */
  show_all_users(all: boolean) {
    this.all_users = all;
    this.ended_due = true;
    this.soon();
  }
  get shows_all_users() { return this.all_users; }

  async run() {
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.soon(); });
    for (let wait = 500; ; wait = Math.min(wait * 2, 10_000)) {
      try {
        if (this.state.session === null) {
          const opened = await session();
          this.all_users = opened.operates;
          this.set({ session: opened });
        }
        if (this.last_event === null) await this.earlier_events();
        await this.look();
        this.stream = new AbortController();
        await follow(this.last_event, this.stream.signal, () => {
          wait = 500;
          this.set({ connection: { is: "live", since: Date.now() } });
          this.soon();
        }, (event) => this.on_event(event));
      } catch (error) {
        if (error instanceof Failed && (error.status === 401 || error.status === 403)) return this.lock(error);
      }
      clearTimeout(this.timer);
      this.due = Infinity;
      const since = this.state.connection.is === "lost" ? this.state.connection.since : Date.now();
      this.set({ connection: { is: "lost", since, again: Date.now() + wait } });
      await new Promise<void>((done) => {
        this.wake = done;
        setTimeout(done, wait * (0.75 + Math.random() / 2));
      });
    }
  }

  try_now() { this.wake?.(); }

  private lock(error: Failed) {
    clearTimeout(this.timer);
    this.stream?.abort();
    this.set({ connection: { is: "locked", told: error.told }, session: null });
  }

  private async earlier_events() {
    const { events } = await get<{ events: Event[] }>("/v1/events?format=json");
    this.last_event = events.at(-1)?.id ?? null;
    this.set({ events: events.slice(-most_events) });
  }

  private on_event(event: Event) {
    this.last_event = event.id;
    this.set({ events: [...this.state.events, event].slice(-most_events) });
    this.recorder.event(event, event.job === null ? "" : label_of(event.job, this.job(event.job)?.name ?? ""));
    if (event.kind.startsWith("plan-")) this.plans_due = true;
    const ends = /^job-(?!started|submitted|queued)/.test(event.kind);
    if (ends) this.ended_due = true;
    const again = event.kind === "job-started" && (this.job(event.job ?? 0)?.attempts ?? 0) > 0;
    if ((ends || again) && event.job !== null && !this.histories.includes(event.job)) this.histories.push(event.job);
    this.soon();
  }

  plans_changed() {
    this.plans_due = true;
    this.soon();
  }

  job(id: number): ListedJob | undefined {
    return this.state.jobs.find((job) => job.id === id) ?? this.state.ended.find((job) => job.id === id);
  }

  /** Looks again shortly, once for all that happens until then. */
  soon() { this.at(Math.max(this.next_allowed, Date.now() + 120)); }

  private at(when: number) {
    if (when >= this.due) return;
    clearTimeout(this.timer);
    this.due = when;
    this.timer = setTimeout(() => {
      this.due = Infinity;
      // The stream's end is noticed late where a machine in between has gone.
      void this.look().catch((error: unknown) => {
        if (error instanceof Failed && error.status === 401) this.lock(error);
        else this.stream?.abort();
      });
    }, Math.max(when - Date.now(), 0));
  }

  private async look() {
    if (this.looking) return;
    this.looking = true;
    const begin = Date.now();
    try {
      const users = this.all_users ? "&user=all" : "";
      const ended_due = this.ended_due, plans_due = this.plans_due;
      this.ended_due = this.plans_due = false;
      const [status, { gpus }, jobs, ended, plans] = await Promise.all([
        get<Status>("/v1/status"),
        get<{ gpus: Gpu[] }>("/v1/gpus"),
        this.unfinished(users),
        ended_due ? this.over(users) : this.state.ended,
        plans_due && this.state.session?.operates ? get<{ plans: Plan[] }>("/v1/plans?limit=20").then((answer) => answer.plans) : this.state.plans,
      ]);
      this.take(status, gpus, jobs, ended, plans);
      await this.add_histories();
    } finally {
      this.looking = false;
      const now = Date.now();
      this.next_allowed = now + Math.max(often_ms, 4 * (now - begin));
      const busy = this.state.plans.some((plan) => plan.ended_at === null);
      if (busy) this.plans_due = true;
      this.at(Math.max(this.next_allowed, now + (document.hidden ? hidden_ms : busy ? often_ms : seldom_ms)));
    }
  }

  /** All of them, or where there are too many what runs and the newest of those that wait. */
  private async unfinished(users: string): Promise<ListedJob[]> {
    const of = async (state: string) => (await get<{ jobs: ListedJob[] }>(`/v1/jobs?limit=${most_listed}${users}${state}`)).jobs;
    const counts = this.state.status?.jobs;
    const all = counts === undefined ? 0 : Object.values(counts).reduce((sum, count) => sum + count, 0);
    if (all <= most_listed) return of("");
    return (await Promise.all(["queued", "starting", "running", "stopping"].map((state) => of(`&state=${state}`)))).flat();
  }

  private async over(users: string): Promise<ListedJob[]> {
    const { jobs } = await get<{ jobs: ListedJob[] }>(`/v1/jobs?all=1&limit=${most_ended}${users}`);
    const ended = jobs.filter((job) => job.ended_at !== null);
    // Attempts from before the page was opened: of the latest jobs only.
    if (this.state.looks === 0) this.histories.push(...jobs.filter((job) => job.attempts > 0 && (job.ended_at !== null || job.attempts > 1)).slice(0, 40).map((job) => job.id));
    return ended;
  }

  private take(status: Status, gpus: Gpu[], jobs: ListedJob[], ended: ListedJob[], plans: Plan[]) {
    const before = this.state.status, now = Date.now();
    const restarted = before !== null && (before.pid !== status.pid || before.started_at !== status.started_at);
    const on = new Map<string, ListedJob[]>();
    for (const job of jobs)
      if (job.instance !== null && job.instance.profile === "") on.set(job.instance.gpu, [...(on.get(job.instance.gpu) ?? []), job]);
    const pieces = new Map(gpus.map((gpu) => [gpu.uuid, pieces_of(gpu, model_of(gpu.model), on.get(gpu.uuid))]));
    this.recorder.look(gpus, pieces, new Map(jobs.map((job) => [job.id, job])), now);
    this.set({
      status, gpus, pieces, jobs, ended, plans, looks: this.state.looks + 1,
      restarted_at: restarted ? now : this.state.restarted_at,
      samples: with_sample(this.state.samples, sample_of(gpus, pieces, status, ended, now)),
    });
  }

  private async add_histories() {
    for (const id of this.histories.splice(0, 8)) {
      try {
        this.recorder.history(await get<Job>(`/v1/jobs/${id}`));
      } catch (error) {
        if (!(error instanceof Failed) || error.status !== 404) throw error;
      }
    }
    if (this.histories.length > 0) this.soon();
  }
}

function sample_of(gpus: readonly Gpu[], pieces: ReadonlyMap<string, Piece[]>, status: Status, ended: readonly ListedJob[], now: number): Sample {
  const sum_of = (values: (number | null)[]) => {
    const there = values.filter((value): value is number => value !== null);
    return there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0);
  };
  const each = gpus.flatMap((gpu) => {
    const model = model_of(gpu.model), lying = pieces.get(gpu.uuid) ?? [];
    return model === null ? [] : [{ ...held_by_jobs(model, lying), fragmentation: gpu.mig ? fragmentation(room_on(model, lying)) : 0 }];
  });
  const mean = (of: (one: (typeof each)[number]) => number) => (each.length === 0 ? 0 : each.reduce((sum, one) => sum + of(one), 0) / each.length);
  const with_jobs = [...pieces.values()].flat().filter((piece) => piece.kind === "job" && piece.used_mib !== null && piece.total_mib);
  const total = with_jobs.reduce((sum, piece) => sum + (piece.total_mib ?? 0), 0);
  const ends = ended.map((job) => Date.parse(job.ended_at ?? "") / 1000);
  const since = ended.length === 0 ? now / 1000 : Math.min(...ends, Date.parse(status.started_at) / 1000);
  return {
    at: now / 1000,
    running: status.jobs.starting + status.jobs.running + status.jobs.stopping,
    waiting: status.jobs.queued,
    compute: mean((one) => one.compute),
    memory: mean((one) => one.memory),
    used: total === 0 ? null : with_jobs.reduce((sum, piece) => sum + (piece.used_mib ?? 0), 0) / total,
    fragmentation: mean((one) => one.fragmentation),
    power_w: sum_of(gpus.map((gpu) => gpu.power_w)),
    energy_j: sum_of(gpus.map((gpu) => gpu.energy_j)),
    ended_per_h: rate_of_ends(ends, now / 1000, since),
  };
}
