// All changes of one session. Adding one is its file, its line here, and a route or a method of the turn journal.

import { chat } from "./chat.ts";
import { checkpoint } from "./checkpoint.ts";
import { claimTurn } from "./claim-turn.ts";
import type { Definition, Needs, Targets } from "./command.ts";
import { complete } from "./complete.ts";
import { deleteSession } from "./delete.ts";
import { expireActions } from "./expire-actions.ts";
import { fail } from "./fail.ts";
import { finishTitle } from "./finish-title.ts";
import { interrupt } from "./interrupt.ts";
import { noteUse } from "./note-use.ts";
import { open } from "./open.ts";
import { pin } from "./pin.ts";
import { rename } from "./rename.ts";
import { resolveAction } from "./resolve-action.ts";
import { setModel } from "./set-model.ts";
import { startCalls } from "./start-calls.ts";
import { stepWithCalls } from "./step-with-calls.ts";
import { toolProgress } from "./tool-progress.ts";
import { toolResult } from "./tool-result.ts";
import { wait } from "./wait.ts";

const DEFINITIONS = {
  // By people and clients.
  open,
  chat,
  interrupt,
  rename,
  pin,
  setModel,
  resolveAction,
  delete: deleteSession,
  // By a running turn, fenced by its lease and epoch.
  checkpoint,
  stepWithCalls,
  startCalls,
  toolProgress,
  toolResult,
  wait,
  complete,
  fail,
  // By the service.
  noteUse,
  finishTitle,
  // Each for one session of a selection (`executeEach`).
  claimTurn,
  expireActions,
} as const;

type Definitions = typeof DEFINITIONS;
export type CommandKind = keyof Definitions;

type PartsOf<D> =
  D extends Definition<infer Kind, infer Input, infer _Named, infer Outcome>
    ? { readonly target: Kind; readonly input: Input; readonly outcome: Outcome }
    : never;

/** One change of one session, as data. */
export type SessionCommand = {
  [K in CommandKind]: {
    readonly kind: K;
    readonly target: Targets[PartsOf<Definitions[K]>["target"]];
    readonly input: PartsOf<Definitions[K]>["input"];
  };
}[CommandKind];

export type InputOf<K extends CommandKind> = PartsOf<Definitions[K]>["input"];

export type OutcomeOf<K extends CommandKind> =
  | PartsOf<Definitions[K]>["outcome"]
  | (PartsOf<Definitions[K]>["target"] extends "accessible session" ? "other_app" : never);

/** The definition of a command, whose types the index has checked by its kind. */
export type AnyDefinition = Definition<keyof Targets, unknown, Needs, unknown>;

export function definitionOf(kind: CommandKind): AnyDefinition {
  return DEFINITIONS[kind] as unknown as AnyDefinition;
}
