// Transactions on the model's one session. The decisions are the service's own, run on records made from the
// modelled fields; the SQL of leases (renew, sweep) is reimplemented here, as the store contract suite
// requires it.

import type { MessageRecord } from "@colloquy/engine/internal/core/message";
import type { SessionRecord } from "@colloquy/engine/internal/core/session";
import type { OpenTurn, TurnRecord } from "@colloquy/engine/internal/core/turn";
import type { StoredFacts } from "@colloquy/engine/internal/core/commands/command";
import type { SessionDraft } from "@colloquy/engine/internal/core/commands/draft";
import type { SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import { UNIT_MS } from "./owner-clock.ts";
import type { ServiceCode } from "./service-code.ts";
import { packDatabase } from "./state-text.ts";

export type Owner = "A" | "B" | "gone";
export type WriteKind = "step" | "complete";

export interface Database {
  readonly turn: "queued" | "running" | "ended";
  readonly runnable: boolean;
  readonly attempts: number;
  /** Number of stored steps. The first step has calls, the second one is the last. */
  readonly steps: number;
  /** `left` is in units of the database's clock; 0 if expired. */
  readonly lease: { readonly owner: Owner; readonly left: number } | null;
  /** Claimant of the session's epoch, `null` for none; used by the properties, not part of the protocol. */
  readonly claimant: Owner | null;
}

export interface Decided {
  readonly database: Database;
  /** True if the session's epoch was raised. */
  readonly isRaised: boolean;
  /** True if the decision accepted the request. */
  readonly isTaken: boolean;
}

/** An arbitrary epoch with room for older ones. */
const EPOCH = 100;
const MODEL = "demo/assistant";
const SESSION = "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111";
const EXISTING = { session: SESSION, birth: null, load: false, access: null };

export class DatabaseDecisions {
  readonly #code: ServiceCode;
  readonly #decided = new Map<string, Map<number, Decided>>();

  constructor(code: ServiceCode) {
    this.#code = code;
  }

  get leaseUnits(): number {
    return this.#code.LEASE_MS / UNIT_MS;
  }

  claim(database: Database, owner: Owner): Decided {
    if (!database.runnable) return { database, isRaised: false, isTaken: false };
    return this.#once(`claim ${owner}`, database, (draft, open) => {
      const claim = {
        turn: 1,
        owner,
        agentMessageId: "agent",
        fullProviders: [],
        models: { default: [MODEL] },
      };
      const command = { kind: "claimTurn", target: EXISTING, input: claim } as const;
      return this.#decide(command, database, draft, open)?.outcome !== null;
    });
  }

  interrupt(database: Database): Decided {
    return this.#once("interrupt", database, (draft, open) => {
      const command = { kind: "interrupt", target: EXISTING, input: { streamed: null } } as const;
      return this.#decide(command, database, draft, open) !== null;
    });
  }

  /** A write of the turn, under the current epoch or an old one. */
  write(database: Database, kind: WriteKind, isOld: boolean): Decided {
    return this.#once(`${kind} ${isOld}`, database, (draft, open) => {
      const { id: sessionId, key: sessionKey } = draft.session;
      const target = { turn: { sessionId, sessionKey, number: 1, epoch: isOld ? EPOCH - 1 : EPOCH } };
      const number = kind === "step" ? 1 : 2;
      // The primary key of a turn's steps rejects a duplicate.
      if (number <= database.steps) return false;
      const step = { number, text: "", parts: [], usage: this.#code.NO_USAGE, finishReason: "stop" };
      const command =
        kind === "step"
          ? ({ kind: "stepWithCalls", target, input: { step, calls: [], actions: [] } } as const)
          : ({ kind: "complete", target, input: { step } } as const);
      return this.#decide(command, database, draft, open) !== null;
    });
  }

  #decide(command: SessionCommand, { turn, lease }: Database, draft: SessionDraft, open: OpenTurn) {
    const openTurns = turn === "ended" ? [] : [open];
    const facts: StoredFacts = {
      turnCount: () => ({ openTurns: openTurns.length, waits: false }),
      openTurns: () => openTurns,
      checkpointed: () => null,
      idempotencyKey: () => null,
      action: () => null,
      message: () => null,
      tail: () => ({ messages: [], turns: [] }),
      firstTurn: () => null,
      files: () => [],
      origin: () => null,
      lease: () => (lease === null ? null : { takenAt: null, expiresAt: draft.at + lease.left }),
    };
    return this.#code.decideCommand(command, draft, facts, draft.at);
  }

  /** Caches decisions by question and database state. */
  #once(what: string, database: Database, decide: (draft: SessionDraft, open: OpenTurn) => boolean): Decided {
    const answers = this.#decided.get(what) ?? new Map<number, Decided>();
    this.#decided.set(what, answers);
    const packed = packDatabase(database);
    const known = answers.get(packed);
    if (known !== undefined) return known;
    let epoch = EPOCH;
    const session = this.#session(database);
    const draft = new this.#code.SessionDraft(session, 1, () => (epoch += 1));
    const isTaken = decide(draft, this.#openTurn(database));
    const decided = {
      database: this.#after(database, draft),
      isRaised: draft.session.epoch > EPOCH,
      isTaken,
    };
    answers.set(packed, decided);
    return decided;
  }

  #session(database: Database): SessionRecord {
    const born = this.#code.newSession(7, SESSION, { incarnation: "a", model: MODEL }, 0);
    const status = database.turn === "ended" ? "idle" : "processing";
    return { ...born, status, messageCount: 2, turnCount: 1, epoch: EPOCH };
  }

  #openTurn({ turn: state, runnable, attempts, steps }: Database): OpenTurn {
    const turn: TurnRecord = {
      number: 1,
      state: state === "queued" ? "queued" : "running",
      userPosition: 1,
      agentPosition: state === "queued" ? null : 2,
      attempts,
      steps,
      ranMs: 0,
      model: state === "queued" ? null : MODEL,
      startedAt: state === "queued" ? null : 0,
      attemptAt: state === "queued" ? null : 0,
      epoch: state === "queued" ? 0 : EPOCH,
      runnable,
      behindWaiting: false,
      clientId: null,
      options: {},
      usage: this.#code.NO_USAGE,
      failure: null,
      enqueuedAt: 0,
      endedAt: null,
    };
    const agentMessage = state === "queued" ? null : message(2, "assistant", "streaming");
    return { turn, userMessage: message(1, "user", "complete"), agentMessage, actions: [] };
  }

  #after(before: Database, draft: SessionDraft): Database {
    const turn = draft.changedTurns.get(1);
    const state = turn?.state ?? null;
    const { lease } = draft;
    return {
      turn: state === null ? before.turn : state === "queued" || state === "running" ? state : "ended",
      runnable: turn?.runnable ?? before.runnable,
      attempts: turn?.attempts ?? before.attempts,
      steps: turn?.steps ?? before.steps,
      lease:
        lease === null
          ? before.lease
          : lease.kind === "released"
            ? null
            : { owner: lease.owner as Owner, left: this.leaseUnits },
      claimant: claimantOf(draft, before),
    };
  }
}

/** Returns the claimant; an epoch taken by an interrupt has none. */
function claimantOf({ lease, session }: SessionDraft, before: Database): Owner | null {
  if (lease?.kind === "taken") return lease.owner as Owner;
  return session.epoch === EPOCH ? before.claimant : null;
}

function message(
  position: number,
  role: "user" | "assistant",
  status: MessageRecord["status"],
): MessageRecord {
  return {
    position,
    id: role,
    turn: 1,
    role,
    content: "",
    status,
    toolCalls: [],
    toolResults: [],
    createdAt: 0,
  };
}

/** Acts as the store's `renew`: an expired lease stays expired. */
export function renew(database: Database, owner: Owner, units: number): Decided {
  const { lease } = database;
  const isTaken = lease !== null && lease.owner === owner && lease.left > 0;
  return {
    database: isTaken ? { ...database, lease: { owner, left: units } } : database,
    isRaised: false,
    isTaken,
  };
}

/** Acts as the store's `releaseDeadLeases`. `ahead` is how far its clock is ahead of the database's. */
export function sweep(database: Database, ahead: number): Decided {
  const { lease, turn } = database;
  if (lease === null || lease.left > ahead) return { database, isRaised: false, isTaken: false };
  const runnable = database.runnable || turn === "running";
  return { database: { ...database, lease: null, runnable }, isRaised: false, isTaken: true };
}
