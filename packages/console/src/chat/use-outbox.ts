import type { AssistantRuntime } from "@assistant-ui/react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useConnection } from "../connection/connection.tsx";
import type { Failure } from "./failure.ts";
import { withUnsent, type Leaving, type Missed } from "./outbox.ts";

/** The messages of a conversation that are on their way. */
export function useLeaving(sessionId: string): readonly Leaving[] {
  const { outbox } = useConnection();
  const { leaving } = useSyncExternalStore(outbox.subscribe, outbox.getSnapshot);
  return useMemo(() => leaving.filter((one) => one.sessionId === sessionId), [leaving, sessionId]);
}

/** What went wrong where nobody looked. */
export function useMissed(): readonly Missed[] {
  const { outbox } = useConnection();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).missed;
}

/** What has failed in the conversation that is shown (`null`: one that has not begun); what was not sent goes back to its composer. */
export function useHearing(
  sessionId: string | null,
  runtime: AssistantRuntime,
): readonly [Failure | null, (failure: Failure | null) => void] {
  const { outbox } = useConnection();
  const [failure, setFailure] = useState<Failure | null>(null);
  const { composer } = runtime.thread;
  useEffect(
    () =>
      outbox.attend(sessionId, (failure, text) => {
        setFailure(failure);
        if (text !== null) composer.setText(withUnsent(text, composer.getState().text));
      }),
    [outbox, sessionId, composer],
  );
  return [failure, setFailure];
}
