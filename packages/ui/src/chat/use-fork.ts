import { useThreads } from "@colloquy/react";
import { useState } from "react";
import { failureOf } from "./failure.ts";
import { usePage } from "./page-context.tsx";

/**
 * Returns a function that copies the conversation into a new one and opens the copy. `through` ends the copy
 * with that message's turn.
 */
export function useFork(sessionId: string) {
  const { outbox, address } = usePage();
  const threads = useThreads();
  const [isForking, setForking] = useState(false);
  const fork = async (options?: { readonly through: string }): Promise<void> => {
    if (isForking) return;
    setForking(true);
    try {
      const { session_id } = await threads.fork(sessionId, options);
      // Do not navigate if the user has opened another conversation in the meantime; the list shows the copy.
      if (address.shown() === sessionId) address.open(session_id);
    } catch (error) {
      outbox.report(sessionId, failureOf("The conversation was not copied", error));
    } finally {
      setForking(false);
    }
  };
  return { isForking, fork };
}
