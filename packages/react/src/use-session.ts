import type { Connection, LiveSession, Snapshot } from "@colloquy/client";
import { useCallback, useMemo, useSyncExternalStore } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import type { Progress } from "./shared-session.ts";
import type { SessionPool } from "./session-pool.ts";

export interface SessionView {
  /** The current snapshot; `null` before the first one, and during server rendering. */
  readonly snapshot: Snapshot | null;
  /** State of the connection. */
  readonly connection: Connection;
  /** To send, interrupt, resolve, rename and so on. The same object for all components below the provider. */
  readonly session: LiveSession;
  /** True if the provider has the option `messages` and earlier messages are not loaded. */
  readonly hasEarlier: boolean;
  /** Loads up to `count` earlier messages; by default, the provider's `messages`. */
  readonly loadEarlier: (count?: number) => Promise<void>;
}

const NOT_CONNECTED: Connection = { state: "idle", error: null };
const NO_PROGRESS: Progress = new Map();

/**
 * Returns the session with this id, live while the component is mounted. The same object until the session
 * changes.
 */
export function useSession(id: string): SessionView {
  const session = useColloquyContext().pool.session(id);
  const snapshot = useSessionPart(id, (pool, id) => pool.session(id).getSnapshot(), null);
  const connection = useSessionPart(id, (pool, id) => pool.session(id).getConnection(), NOT_CONNECTED);
  const loadEarlier = useCallback((count?: number) => session.loadEarlier({ count }), [session]);
  return useMemo(
    () => ({
      snapshot,
      connection,
      session,
      hasEarlier: (snapshot?.messages_before ?? 0) > 0,
      loadEarlier,
    }),
    [snapshot, connection, session, loadEarlier],
  );
}

/**
 * Returns the latest progress of running tools by call id, in each tool's own shape. Progress sent before the
 * first subscription is not known.
 */
export function useToolProgress(id: string): Progress {
  return useSessionPart(id, (pool, id) => pool.progress(id), NO_PROGRESS);
}

/**
 * Returns a part of the session; the component renders again only when it changes. `absent` is its value
 * during server rendering.
 */
export function useSessionPart<Part>(
  id: string,
  part: (pool: SessionPool, id: string) => Part,
  absent: Part,
): Part {
  const { pool } = useColloquyContext();
  const subscribe = useCallback((listener: () => void) => pool.subscribe(id, listener), [pool, id]);
  return useSyncExternalStore(
    subscribe,
    () => part(pool, id),
    () => absent,
  );
}
