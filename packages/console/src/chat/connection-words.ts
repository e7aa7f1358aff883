import type { ColloquyError, Connection } from "@colloquy/client";
import { NO_STREAM_PLACE } from "../connection/stream-places.ts";
import { needsKey } from "./failure.ts";

export interface ConnectionWords {
  readonly sentence: string;
  /** What a person can do about it; `null` where it mends itself. */
  readonly help: "retry" | "key" | "new-chat" | null;
}

/** What to tell about a connection; `null` while there is nothing to tell. */
export function connectionWords({ state, error }: Connection): ConnectionWords | null {
  switch (state) {
    case "idle":
    case "connecting":
    case "live":
      return null;
    case "waiting":
      return { sentence: `${withReason("The connection is lost", error)} Trying again…`, help: null };
    case "polling":
      return { sentence: `${pollingReason(error)} Asking for news every few seconds.`, help: null };
    case "deleted":
      return { sentence: "This conversation was deleted.", help: null };
    case "failed": {
      if (error?.code === "session_id_invalid")
        return { sentence: "There is no conversation at this address.", help: "new-chat" };
      const help = needsKey(error) ? "key" : "retry";
      return { sentence: withReason("This conversation cannot be shown", error), help };
    }
  }
}

function pollingReason(error: ColloquyError | null): string {
  switch (error?.code) {
    case NO_STREAM_PLACE:
      return "Other tabs have all live connections.";
    case "too_many_streams":
      return withReason("Live updates do not get through", error);
    default:
      return "Live updates do not get through.";
  }
}

function withReason(what: string, error: ColloquyError | null): string {
  return error === null ? `${what}.` : `${what}. ${error.message}`;
}
