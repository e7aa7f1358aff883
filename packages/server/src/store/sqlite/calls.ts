// What the two threads of the store say to each other. Everything here goes through the structured clone.

import type { Store } from "../../core/ports/driven/store.ts";

export type Ports = Omit<Store, "execute" | "executeEach" | "probe" | "close">;

type Aggregate = keyof Ports;

/** Every method of the ports, and whether it only reads: reads are answered while writes fail. */
export const METHODS = {
  sessions: {
    find: "read",
    versions: "read",
    streamedText: "read",
    list: "read",
    listKeys: "read",
    byKeys: "read",
    messagePage: "read",
    messages: "read",
    expire: "write",
    countSizes: "write",
  },
  turns: {
    countWaiting: "read",
    renew: "write",
    releaseDeadLeases: "write",
    handBack: "write",
    history: "read",
  },
  actions: { list: "read", isAnyDue: "read" },
  events: { after: "read", trim: "write" },
  jobs: {
    claimTitles: "write",
    isKeyUsed: "read",
    forgetIdempotencyKeys: "write",
    takeDuty: "write",
  },
  keys: { add: "write", find: "read", list: "read", revoke: "write", rotate: "write" },
  secrets: {
    put: "write",
    of: "read",
    remove: "write",
    countByKey: "read",
    keyInForce: "read",
    bringInForce: "write",
    sealedByOthers: "read",
    replace: "write",
  },
  admin: {
    now: "read",
    counts: "read",
    apps: "read",
    used: "read",
    open: "read",
    find: "read",
    turns: "read",
    ended: "read",
  },
} as const satisfies { readonly [A in Aggregate]: { readonly [M in keyof Ports[A]]: "read" | "write" } };

/** A port as its thread answers it: at a moment on the store's clock (milliseconds since the Unix epoch), at once. */
export type Synchronous<Port> = {
  readonly [M in keyof Port]: Port[M] extends (...parameters: infer Parameters) => Promise<infer Answer>
    ? (at: number, ...parameters: Parameters) => Answer
    : never;
};

/** `execute` and `executeEach` run commands, `probe` writes one number; the others are methods of ports, such as `sessions.find`. */
export type Method = string;

export interface Call {
  readonly method: Method;
  readonly at: number;
  readonly parameters: readonly unknown[];
}

/** Why a call failed. A defect is a mistake in this program; the rest is the world's. */
export type Failure =
  | { readonly kind: "full" | "unavailable"; readonly cause: string }
  | { readonly kind: "defect"; readonly error: unknown };

export type Outcome = { readonly value: unknown } | { readonly failure: Failure };

export type ToWorker = { readonly calls: readonly Call[] } | { readonly close: true };

export type FromWorker =
  | { readonly kind: "ready" }
  /** The store cannot be opened; `message` is a sentence for the person who started the process. */
  | { readonly kind: "refused"; readonly message: string }
  /** Outcomes of the oldest unanswered calls, in the order of the calls. */
  | { readonly kind: "outcomes"; readonly outcomes: readonly Outcome[] }
  /** The disk lies or the database is beyond use: the process must end. */
  | { readonly kind: "fatal"; readonly cause: string }
  | { readonly kind: "closed" };

export interface WorkerOptions {
  /** `null` keeps everything in memory. */
  readonly directory: string | null;
  readonly role: "server" | "administration";
  readonly processId: number | null;
  readonly isAlone: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly openedAt: number;
}
