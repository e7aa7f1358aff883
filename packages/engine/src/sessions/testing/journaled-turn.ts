// A running turn with its journal; a test records its store calls and can make them fail.

import type { BeforeCall } from "../../../../server/test/intercepted-store.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { newId, startService, type TestService } from "../../../../server/test/service.ts";
import { Unavailable } from "../../core/errors.ts";
import type { StartedTurn } from "../../core/turn.ts";
import type { Checkpoint } from "../../core/ports/driven/store.ts";
import { TextCheckpoints } from "../text-checkpoints.ts";
import { StoredTurnJournal } from "../turn-journal.ts";

export const CHECKPOINT = "turns.checkpoint";

interface StoreCall {
  readonly method: string;
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly parameters: readonly unknown[];
}

export class JournaledTurn {
  readonly service: TestService;
  readonly id = newId();
  readonly warnings: string[] = [];
  calls: StoreCall[] = [];
  before: BeforeCall = () => undefined;
  /** Number of notifications that another turn may be claimed. */
  more = 0;
  stop = new AbortController();
  turn!: StartedTurn;
  journal!: StoredTurnJournal;

  private constructor(service: TestService) {
    this.service = service;
  }

  static async start(): Promise<JournaledTurn> {
    const clock = new ManualClock();
    let one: JournaledTurn | null = null;
    const service = await startService({
      clock,
      beforeCall: (method, parameters) => {
        one?.calls.push({ method, parameters, at: clock.monotonic() });
        return one?.before(method, parameters);
      },
      // Turns wait in the store until `next` claims them.
      adjust: (config) => ({ ...config, limits: { ...config.limits, maxRunning: 0 } }),
    });
    service.leases.stop();
    one = new JournaledTurn(service);
    await service.say(one.id, "hello");
    await one.next();
    await one.journal.open();
    one.calls = [];
    return one;
  }

  /** Claims the next turn and opens its journal. */
  async next(): Promise<void> {
    const [committed] = await this.service.store.executeEach({
      kind: "claimTurns",
      owner: "me",
      agentMessageIds: [newId()],
      fullProviders: [],
      models: {},
    });
    const started = committed === undefined ? null : this.service.registry.apply(committed).outcome;
    if (started === null) throw new Error("No turn could be claimed");
    this.turn = started;
    this.journal = this.journalOf(started);
  }

  journalOf(started: StartedTurn): StoredTurnJournal {
    const { store, registry, hub, clock } = this.service;
    const warn = (_fields: unknown, text: string): void => void this.warnings.push(text);
    const logger = { debug() {}, info() {}, warn, error() {} };
    return new StoredTurnJournal(started, {
      store,
      registry,
      hub,
      clock,
      checkpoints: new TextCheckpoints({ store: store.turns, clock, logger }),
      logger,
      signal: this.stop.signal,
      queue: { workArrived: () => void (this.more += 1) },
    });
  }

  /** Returns the calls of a method in order. */
  callsOf(method: string): StoreCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  /** Returns offset and text of each attempted checkpoint. */
  saved(): unknown[] {
    return this.callsOf(CHECKPOINT).flatMap(({ parameters: [pieces] }) =>
      (pieces as readonly Checkpoint[]).map(({ offset, text }) => [offset, text]),
    );
  }

  /** Resolves when the store has answered every call so far. */
  async round(): Promise<void> {
    await this.service.store.probe();
  }

  /** Makes the session fall behind its log, so that it is loaded again. */
  async fallBehind(): Promise<void> {
    const { registry, store } = this.service;
    const [session, record] = [registry.inMemory(this.id), await store.sessions.find(this.id)];
    if (session === null || record === null) throw new Error("There is no live session");
    const unknown = {
      sender: "user",
      content: "",
      id: "unknown",
      created_at: "",
      status: "complete",
    } as const;
    const events = [
      { number: session.head + 1, event: { type: "message_updated", message: unknown } as const },
    ];
    registry.apply({ outcome: "ok", session: record, created: false, events, audited: [], loaded: null });
    if (registry.inMemory(this.id) !== null) throw new Error("The session was not replaced");
  }

  /** Returns the text that would survive a crash. */
  async stored(): Promise<string | undefined> {
    await this.round();
    const target = { session: this.id, birth: null, load: true, access: null };
    const opened = await this.service.store.execute({
      kind: "open",
      target,
      input: { userState: null, publicKey: null },
    });
    return opened?.loaded?.checkpointed;
  }

  async close(): Promise<void> {
    this.journal.close();
    await this.service.close();
  }
}

/** Makes the first calls of a method fail. */
export function failing(method: string, times: number, error: () => Error = fullDisk): BeforeCall {
  let left = times;
  return (called) => (called === method && left-- > 0 ? Promise.reject(error()) : undefined);
}

export function fullDisk(): Error {
  return new Unavailable(507, "insufficient_storage", "The disk is full.", 30);
}
