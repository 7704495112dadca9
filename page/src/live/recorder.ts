// What happened on the slices, from one look at the GPUs to the next and from the history of jobs:
// the document of a timeline.

import type { Event, Gpu, Job, ListedJob, Place } from "../api/types";
import { type Piece, model_of, short_model } from "../parts/slices";
import type { Mark, Move, Timeline } from "../report/document";

interface Stay {
  gpu: string;
  start: number;
  slices: number;
  compute: number;
  profile: string;
  doing: string;
  job: string;
  begin: number;
  /** null: it goes on. */
  end: number | null;
}

const most_stays = 20_000, most_marks = 2000;

/** "12 train": with the number, by which it has its colour. */
export const label_of = (id: number, name: string) => (name === "" ? `${id}` : `${id} ${name}`);

const marks_of: Record<string, string> = {
  "job-restarted-early": "restarted", "job-out-of-memory": "ran_out", "job-lost": "gpu_lost", "gpu-lost": "gpu_lost",
};

const doing_of: Record<Piece["kind"], string> = { job: "running", others: "wall", claim: "wall", idle: "idle", foreign: "wall" };

export class Recorder {
  private open = new Map<string, Stay>();
  private over: Stay[] = [];
  private known = new Set<string>();
  private marks: { what: string; at: number; job?: string; gpu?: string }[] = [];
  private moves: { from: Stay; to: Stay }[] = [];
  private gpus: Gpu[] = [];
  private looked = false;
  private first: number;
  private last: number;

  constructor(now: number) {
    this.first = this.last = now;
  }

  /** GPUs as they are now, with what lies on each. */
  look(gpus: readonly Gpu[], pieces: ReadonlyMap<string, Piece[]>, jobs: ReadonlyMap<number, ListedJob>, now: number) {
    this.gpus = [...gpus];
    this.last = Math.max(now, this.last);
    const there = new Set<string>();
    for (const gpu of gpus) {
      for (const piece of pieces.get(gpu.uuid) ?? []) {
        const job = jobs.get(piece.jobs[0] ?? 0);
        const name = piece.jobs.length === 0 ? "" : label_of(piece.jobs[0] ?? 0, job?.name ?? "");
        const starting = job?.state === "starting";
        const doing = starting ? "starting" : doing_of[piece.kind];
        const key = `${gpu.uuid} ${piece.start} ${piece.profile} ${doing} ${name}`;
        there.add(key);
        if (this.open.has(key)) continue;
        // What ran before this page was opened began when its job did.
        const began = !this.looked ? Date.parse(job?.started_at ?? "") : NaN;
        this.open.set(key, {
          gpu: gpu.uuid, start: piece.start, slices: piece.memory, compute: piece.compute, profile: piece.profile,
          doing, job: name, begin: Number.isFinite(began) ? Math.min(began, now) : now, end: null,
        });
        if (Number.isFinite(began)) this.first = Math.min(this.first, began);
      }
    }
    for (const [key, stay] of this.open)
      if (!there.has(key)) {
        this.open.delete(key);
        this.over.push({ ...stay, end: now });
      }
    this.looked = true;
    if (this.over.length > most_stays) this.over.splice(0, this.over.length - most_stays);
  }

  /** The attempts of a job that ended before this page looked, and its moves. */
  history(job: Job) {
    const name = label_of(job.id, job.name);
    let before: Stay | null = null;
    for (const attempt of job.history) {
      const key = `${job.id}/${attempt.attempt}`;
      const begin = Date.parse(attempt.began_at ?? attempt.started_at ?? "");
      const stay = attempt.instance === null || !Number.isFinite(begin) ? null : this.stay(attempt.instance, name, begin, attempt.ended_at);
      if (attempt.ended_at !== null && !this.known.has(key)) {
        this.known.add(key);
        if (stay !== null && !this.seen(stay)) {
          this.over.push(stay);
          this.first = Math.min(this.first, begin);
        }
        if (attempt.end === "early-restart" || attempt.end === "out-of-memory" || attempt.end === "moved" || attempt.end === "made-room")
          this.marked(attempt.end === "out-of-memory" ? "ran_out" : "restarted", Date.parse(attempt.ended_at), name, attempt.instance?.gpu);
      }
      if (before !== null && stay !== null && !this.moves.some((move) => move.to.job === name && move.to.begin === stay.begin))
        this.moves.push({ from: before, to: stay });
      before = stay;
    }
  }

  event(event: Event, name: string) {
    const what = marks_of[event.kind];
    if (what !== undefined && event.job === null)
      this.marked(what, Date.parse(event.at), name, event.gpu ?? undefined);
  }

  private marked(what: string, at: number, job: string, gpu?: string) {
    this.marks.push({ what, at, job, ...(gpu === undefined ? {} : { gpu }) });
    if (this.marks.length > most_marks) this.marks.shift();
  }

  private stay(place: Place, job: string, begin: number, ended: string | null): Stay | null {
    const model = model_of(this.gpus.find((gpu) => gpu.uuid === place.gpu)?.model ?? "");
    const profile = model?.profiles.find((each) => each.name === place.profile);
    if (model === null) return null;
    return {
      gpu: place.gpu, start: place.start, slices: profile?.memory ?? model.memory, compute: profile?.compute ?? model.compute,
      profile: place.profile, doing: "running", job, begin, end: ended === null ? null : Date.parse(ended),
    };
  }

  /** Whether looks at the GPUs have it already. */
  private seen(stay: Stay): boolean {
    const end = stay.end ?? Infinity;
    return [...this.over, ...this.open.values()].some((other) =>
      other.gpu === stay.gpu && other.start === stay.start && other.job === stay.job &&
      other.begin < end && (other.end ?? Infinity) > stay.begin);
  }

  /** From the earliest to now, at most as long as said. */
  document(most_ms: number): { timeline: Timeline; begin: number; length: number } {
    const begin = Math.max(this.first, this.last - most_ms), length = Math.max(this.last - begin, 1000);
    const place = new Map(this.gpus.map((gpu, i) => [gpu.uuid, i]));
    const models = [...new Set(this.gpus.map((gpu) => gpu.model))];
    const stays = [...this.over, ...this.open.values()]
      .filter((stay) => place.has(stay.gpu) && (stay.end ?? this.last) > begin)
      .sort((a, b) => a.begin - b.begin);
    const listed = (of: (stay: Stay) => string) => [...new Set(stays.map(of))];
    const profiles = listed((stay) => stay.profile), doings = listed((stay) => stay.doing);
    const jobs = listed((stay) => stay.job).filter((job) => job !== "");
    const number_of = new Map(jobs.map((job, i) => [job, i]));
    const from = stays.map((stay) => Math.max(stay.begin - begin, 0));
    const at = (stay: Stay): [number, number, number] => [place.get(stay.gpu) ?? 0, stay.start, stay.slices];
    const timeline: Timeline = {
      gpus: {
        models: models.map((name) => {
          const model = model_of(name);
          return { name: short_model(name), compute: model?.compute ?? 7, slices: model?.memory ?? 8 };
        }),
        all: this.gpus.map((gpu) => ({ name: `GPU ${gpu.index}`, model: models.indexOf(gpu.model) })),
      },
      marks: this.marks.filter((mark) => mark.at >= begin).map((mark): Mark => ({
        what: mark.what, at_ms: mark.at - begin, ...(mark.job === undefined ? {} : { job: mark.job }),
        ...(mark.gpu !== undefined && place.has(mark.gpu) ? { gpu: place.get(mark.gpu) ?? 0 } : {}),
      })),
      moves: this.moves.filter(({ from, to }) => (from.end ?? 0) >= begin && place.has(from.gpu) && place.has(to.gpu))
        .map(({ from, to }): Move => ({ from: at(from), left_ms: (from.end ?? begin) - begin, to: at(to), arrives_ms: to.begin - begin })),
      spans: {
        gpu: stays.map((stay) => place.get(stay.gpu) ?? 0),
        start: stays.map((stay) => stay.start),
        slices: stays.map((stay) => stay.slices),
        compute: stays.map((stay) => stay.compute),
        profile: stays.map((stay) => profiles.indexOf(stay.profile)),
        doing: stays.map((stay) => doings.indexOf(stay.doing)),
        job: stays.map((stay) => number_of.get(stay.job) ?? null),
        after_ms: from.map((each, i) => each - (i === 0 ? 0 : (from[i - 1] ?? 0))),
        length_ms: stays.map((stay, i) => Math.max((stay.end ?? this.last) - begin - (from[i] ?? 0), 0)),
      },
      profiles, doings, jobs,
    };
    return { timeline, begin, length };
  }
}
