// What every part of the live page may use: the state, what the user may do, and how it is said
// what came of it.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Named } from "../parts/gpu";
import { Failed } from "./api";
import { Live, type State } from "./live";
import { label_of } from "./recorder";

export interface Page {
  live: Live;
  state: State;
  /** Whether this session may change something. */
  acts: boolean;
  operates: boolean;
  chosen: number | null;
  choose: (job: number | null) => void;
  /** The chosen job where it has a place: others are drawn fainter. */
  marked: number | null;
  say: (text: string, bad?: boolean) => void;
  named: Named;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error("a part of the page stands outside of it");
  return page;
}

export function useLive(live: Live): State {
  const [state, set_state] = useState(live.state);
  useEffect(() => live.subscribe(() => set_state(live.state)), [live]);
  return state;
}

/** Does what a button is for, and says what came of it. */
export function useAction(): [busy: boolean, act: (what: () => Promise<string>) => Promise<boolean>] {
  const { live, say } = usePage();
  const [busy, set_busy] = useState(false);
  const act = async (what: () => Promise<string>) => {
    set_busy(true);
    try {
      say(await what());
      return true;
    } catch (error) {
      say(words_of_failure(error), true);
      return false;
    } finally {
      set_busy(false);
      live.soon();
    }
  };
  return [busy, act];
}

export function words_of_failure(error: unknown): string {
  if (error instanceof Failed) return error.remedy === "" ? error.told : `${error.told}; ${error.remedy}`;
  return error instanceof Error ? error.message : String(error);
}

/** Names by number, also of jobs that have ended. */
export function named_by(live: Live): Named {
  return {
    label: (id) => label_of(id, live.job(id)?.name ?? ""),
    state: (id) => live.job(id)?.state ?? "",
  };
}
