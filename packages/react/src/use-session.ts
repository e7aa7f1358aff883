import type { Connection, LiveSession, Snapshot } from "@colloquy/client";
import { useCallback, useMemo, useSyncExternalStore } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import type { Progress } from "./held-session.ts";
import type { SessionPool } from "./session-pool.ts";

export interface SessionView {
  /** What is known of it; `null` before anything is, and while a page is rendered on a server. */
  readonly snapshot: Snapshot | null;
  /** How it is followed, and why that may fail. */
  readonly connection: Connection;
  /** To send, interrupt, resolve, rename and so on. The same for everybody below the provider. */
  readonly session: LiveSession;
}

const NOT_CONNECTED: Connection = { state: "idle", error: null };
const NO_PROGRESS: Progress = new Map();

/** The conversation with this id, live as long as the component is there. The same object until something of it changes. */
export function useSession(id: string): SessionView {
  const session = useColloquyContext().pool.session(id);
  const snapshot = useSessionPart(id, (pool, id) => pool.session(id).getSnapshot(), null);
  const connection = useSessionPart(id, (pool, id) => pool.session(id).getConnection(), NOT_CONNECTED);
  return useMemo(() => ({ snapshot, connection, session }), [snapshot, connection, session]);
}

/**
 * What tools that run have told of themselves last, by the id of their call, in whatever shape the tool gives it. Known only to who was
 * there when it was told.
 */
export function useToolProgress(id: string): Progress {
  return useSessionPart(id, (pool, id) => pool.progress(id), NO_PROGRESS);
}

/**
 * A part of the session that is the same object until it changes: only then does the component render again. `absent` is what there is of
 * it on a server.
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
