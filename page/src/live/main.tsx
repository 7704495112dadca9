// The live page of a daemon.

import { render } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import "../page.css";
import "./live.css";
import { Patterns } from "../parts/gpu";
import { PageContext, type Page, named_by, useLive, usePage } from "./context";
import { clock } from "./clock";
import { Banners, Head, Locked, Summary } from "./controls";
import { FleetRoom, Gpus } from "./gpus";
import { JobPane } from "./job_pane";
import { Ended, Queue, Running } from "./jobs";
import { Live, type State } from "./live";
import { OverTime } from "./over_time";
import { Plans } from "./plans";

const parts: [id: string, words: string][] = [
  ["gpus", "GPUs"], ["queue", "Waiting"], ["running", "Running"], ["ended", "Ended"], ["over-time", "Over time"], ["plans", "Plans"], ["events", "Events"],
];

/** Goes to a part without touching the address. */
function jump(event: MouseEvent) {
  const target = document.getElementById((event.currentTarget as HTMLAnchorElement).hash.slice(1));
  if (target === null) return;
  event.preventDefault();
  target.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  target.focus({ preventScroll: true });
}

function Events() {
  const { state } = usePage();
  const [most, set_most] = useState(30);
  const shown = state.events.slice(-most).reverse();
  return (
    <section aria-labelledby="events">
      <h2 id="events" tabIndex={-1}>Events</h2>
      {shown.length === 0 ? <p class="weak">None so far.</p> : (
        <ol class="events" reversed>
          {shown.map((event) => (
            <li key={event.id}><time dateTime={event.at}>{clock(Date.parse(event.at))}</time> <span class="weak">{event.kind}</span> {event.text}</li>
          ))}
        </ol>
      )}
      {state.events.length > most && <button type="button" onClick={() => set_most(most + 200)}>Earlier ones</button>}
    </section>
  );
}

interface Notice {
  number: number;
  text: string;
  bad: boolean;
}

function Notices({ all, drop }: { all: Notice[]; drop: (number: number) => void }) {
  return (
    <div class="notices" role="status" aria-live="polite">
      {all.map(({ number, text, bad }) => (
        <p key={number} class={`notice${bad ? " bad" : ""}`} role={bad ? "alert" : undefined}>
          {text} <button type="button" class="close" aria-label="Dismiss" onClick={() => drop(number)}>&times;</button>
        </p>
      ))}
    </div>
  );
}

let notices_so_far = 0;

/** Whether the job has a place, so that it is marked among the others. */
const placed = (state: State, job: number | null) =>
  job !== null && [...state.pieces.values()].some((lying) => lying.some((piece) => piece.jobs.includes(job)));

function App({ live }: { live: Live }) {
  const state = useLive(live);
  const [chosen, choose] = useState<number | null>(null);
  const [notices, set_notices] = useState<Notice[]>([]);
  const drop = useCallback((number: number) => set_notices((all) => all.filter((each) => each.number !== number)), []);
  const say = useCallback((text: string, bad = false) => {
    const number = ++notices_so_far;
    set_notices((all) => [...all.slice(-3), { number, text, bad }]);
    setTimeout(() => drop(number), bad ? 20_000 : 6000);
  }, []);
  const named = useMemo(() => named_by(live), [live]);
  const page: Page = {
    live, state, chosen, choose, say, named, marked: placed(state, chosen) ? chosen : null,
    acts: state.session?.scope === "act", operates: state.session?.operates ?? false,
  };
  if (state.connection.is === "locked") return <Locked told={state.connection.told} />;
  return (
    <PageContext.Provider value={page}>
      <a class="skip" href="#gpus" onClick={jump}>Skip to the GPUs</a>
      <a class="skip" href="#queue" onClick={jump}>Skip to the jobs</a>
      <Patterns />
      <div class={chosen === null ? "" : "with-pane"}>
        <Head />
        <nav class="parts" aria-label="Parts of the page">
          {parts.filter(([id]) => id !== "plans" || page.operates).map(([id, words]) => <a key={id} href={`#${id}`} onClick={jump}>{words}</a>)}
        </nav>
        <main id="content">
          <Banners />
          {state.status === null ? <p class="weak">Asking the daemon…</p> : (
            <>
              <Summary />
              <div class="columns">
                <div><Gpus /><FleetRoom /></div>
                <div><Queue /><Running /><Ended /></div>
              </div>
              <OverTime />
              <Plans />
              <Events />
            </>
          )}
        </main>
      </div>
      {chosen !== null && <JobPane id={chosen} />}
      <Notices all={notices} drop={drop} />
    </PageContext.Provider>
  );
}

// Another address of `cleave page` in the same tab changes no more than this.
addEventListener("hashchange", () => { if (location.hash.startsWith("#token=")) location.reload(); });

const place = document.getElementById("page");
if (place !== null) {
  const live = new Live();
  render(<App live={live} />, place);
  void live.run();
}
