// The messages between the two threads of the store. All messages go through the structured clone.

import type { Store } from "../../core/ports/driven/store.ts";
import type { SharedPorts } from "../shared-ports.ts";

/** The ports whose methods are called by name. Commands, the probe and the purge are not called this way. */
export type Ports = Omit<Store, "execute" | "executeEach" | "probe" | "purge" | "close">;

/** The ports that are written for SQLite only. */
export type OwnPorts = Omit<Ports, keyof SharedPorts>;

/** A method of a port, such as `sessions.find`. */
export type Method = { [P in keyof Ports]: `${P}.${keyof Ports[P] & string}` }[keyof Ports];

/** The signature of a method in its port. */
export type Signature<M extends Method> = M extends `${infer P extends keyof Ports}.${infer Name}`
  ? Ports[P][Name & keyof Ports[P]]
  : never;

/** A port inside the worker: each method takes the call's time (milliseconds since the Unix epoch) and returns at once. */
export type Synchronous<Port> = {
  readonly [M in keyof Port]: Port[M] extends (...parameters: infer Parameters) => Promise<infer Answer>
    ? (at: number, ...parameters: Parameters) => Answer
    : never;
};

export interface Call {
  readonly method: Method | "execute" | "executeEach" | "probe" | "purge";
  /** Reads are answered while writes fail. */
  readonly writes: boolean;
  readonly at: number;
  readonly parameters: readonly unknown[];
}

/**
 * Why a call failed. A defect is a bug of this program, `lost` a file that was removed or replaced or is
 * read-only; the other causes are the disk or another process.
 */
export type Failure =
  | { readonly kind: "full" | "unavailable" | "lost"; readonly cause: string }
  | { readonly kind: "defect"; readonly error: unknown };

export type Outcome = { readonly value: unknown } | { readonly failure: Failure };

export type ToWorker = { readonly calls: readonly Call[] } | { readonly close: true };

export type FromWorker =
  | { readonly kind: "ready" }
  /** The store cannot be opened. `message` is shown to the person who started the process. */
  | { readonly kind: "refused"; readonly message: string }
  /** Outcomes of the oldest unanswered calls, in the order of the calls. */
  | { readonly kind: "outcomes"; readonly outcomes: readonly Outcome[] }
  /** Sent after a failed fsync, or for an unusable database: the process must end. */
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
