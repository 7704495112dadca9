// Requests to the daemon. The cookie that the session gave goes with them by itself; its proof is
// added, since browsers send cookies to every port of a host.

import type { Error as Refusal, Event } from "../api/types";

export interface Session {
  user: string;
  uid: number;
  scope: "view" | "act";
  operates: boolean;
  expires_at: string;
}

/** What the daemon, or the way to it, said instead of an answer. Status 0: there was no answer. */
export class Failed extends Error {
  constructor(
    readonly status: number,
    readonly told: string,
    readonly remedy = "",
  ) {
    super(told);
  }
}

interface NewSession extends Session {
  proof: string;
}

/** Where only this origin reads it, also in other tabs and after a reload. */
const proof_place = "cleave-proof";

function proof(): string {
  return localStorage.getItem(proof_place) ?? "none";
}

const patience_ms = 20_000;
/** A plan may take as long to be made. */
const patience_of_changes_ms = 60_000;

async function failure(response: Response): Promise<Failed> {
  try {
    const { error } = (await response.json()) as Refusal;
    const place = error.place === "" ? "" : `${error.place}: `;
    return new Failed(response.status, `${place}${error.message}`, error.remedy);
  } catch {
    return new Failed(response.status, `the daemon answered with status ${response.status}`);
  }
}

type Options = Omit<RequestInit, "headers"> & { headers?: Record<string, string> };

export async function request(path: string, options: Options = {}): Promise<Response> {
  let response: Response;
  try {
    const signal = options.signal ?? AbortSignal.timeout(patience_ms);
    const headers = { "X-Cleave-Page": proof(), ...options.headers };
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...options, headers, signal });
  } catch {
    throw new Failed(0, "the daemon does not answer");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get<Answer>(path: string): Promise<Answer> {
  return (await (await request(path)).json()) as Answer;
}

/** A change. */
export async function send<Answer>(method: "POST" | "PUT", path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await request(path, {
    method,
    signal: AbortSignal.timeout(patience_of_changes_ms),
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answer;
}

/** Takes server-sent events out of a text that grows; returns what is left over. */
export function events_in(text: string, take: (event: Event) => void): string {
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  for (const block of blocks) {
    const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
    if (data.length > 0) take(JSON.parse(data.join("\n")) as Event);
  }
  return rest;
}

/** Follows events until the stream ends, which it always does as a failure or as an end. Any kind
 *  of event is taken, also of later versions: EventSource would need to know each by name, and
 *  would not say with which status it was refused. */
export async function follow(after: number | null, signal: AbortSignal, open: () => void, take: (event: Event) => void) {
  const response = await request(after === null ? "/v1/events" : `/v1/events?after=${after}`, { signal });
  open();
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text = events_in(text + decoder.decode(value, { stream: true }), take);
  }
}

/** Exchanges the token of the address for a cookie, once, and forgets it; without one, or with one
 *  that is used up, asks for the session that the cookie has. */
export async function session(): Promise<Session> {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return get<Session>("/session");
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const { proof: own, ...opened } = await send<NewSession>("POST", "/session", { token: decodeURIComponent(token) });
    localStorage.setItem(proof_place, own);
    return opened;
  } catch (refused) {
    return get<Session>("/session").catch(() => { throw refused; });
  }
}
