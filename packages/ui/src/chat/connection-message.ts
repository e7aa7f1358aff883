import type { ColloquyError, Connection } from "@colloquy/client";
import { needsKey } from "./failure.ts";

export interface ConnectionMessage {
  readonly sentence: string;
  /** Advice for the user; `null` if the connection recovers by itself. */
  readonly help: "retry" | "key" | "new-chat" | null;
}

/** Returns the message about a connection; `null` if there is no problem. */
export function connectionMessage({ state, error }: Connection): ConnectionMessage | null {
  switch (state) {
    case "idle":
    case "connecting":
    case "live":
      return null;
    case "waiting":
      return { sentence: `${withReason("The connection is lost", error)} Trying again…`, help: null };
    case "polling":
      return { sentence: `${pollingReason(error)} Checking for updates every few seconds.`, help: null };
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
    case "no_stream_slot":
      return "Other tabs use all live connections.";
    case "stream_delayed":
      return "A proxy delays live updates.";
    case "too_many_streams":
      return withReason("Live updates are blocked", error);
    default:
      return "Live updates are blocked.";
  }
}

function withReason(what: string, error: ColloquyError | null): string {
  return error === null ? `${what}.` : `${what}. ${error.message}`;
}
