// All commands. A new command needs its file, its line here, a disposition of each new outcome
// (`DISPOSITIONS` in command.ts), and a caller: a method of the journal, or one of a service
// (sessions/) with its route. decide.ts runs them for both stores.

import type { RefusalReason } from "../session-access.ts";
import type { StartedTurn } from "../turn.ts";
import type { Unblocking } from "./asking.ts";
import { addFile } from "./add-file.ts";
import { append } from "./append.ts";
import { beginStep } from "./steering.ts";
import { chat } from "./chat.ts";
import { claim } from "./claim-session.ts";
import { claimAction } from "./claim-action.ts";
import { claimTurn, type ClaimTurns } from "./claim-turn.ts";
import type { Definition, Targets } from "./command.ts";
import { complete } from "./complete.ts";
import { deleteSession } from "./delete.ts";
import { expireActions, type ExpireActions } from "./expire-actions.ts";
import { fail } from "./fail.ts";
import { finishTitle } from "./finish-title.ts";
import { fork } from "./fork.ts";
import { giveFeedback } from "./give-feedback.ts";
import { interrupt } from "./interrupt.ts";
import { keepSummary } from "./keep-summary.ts";
import { noteUse } from "./note-use.ts";
import { open } from "./open.ts";
import { pin } from "./pin.ts";
import { rejectStep } from "./reject-step.ts";
import { edit } from "./edit.ts";
import { decideAction } from "./decide-action.ts";
import { setModel } from "./set-model.ts";
import { startCalls } from "./start-calls.ts";
import { stepWithCalls } from "./step-with-calls.ts";
import { toolProgress } from "./tool-progress.ts";
import { toolResult } from "./tool-result.ts";
import { transfer } from "./transfer.ts";
import { wait } from "./wait.ts";

export const DEFINITIONS = {
  // Commands of people and clients.
  open,
  fork,
  addFile,
  chat,
  append,
  interrupt,
  edit,
  pin,
  giveFeedback,
  setModel,
  claim,
  transfer,
  claimAction,
  decideAction,
  delete: deleteSession,
  // Commands of a running turn, fenced by its lease and epoch.
  beginStep,
  stepWithCalls,
  rejectStep,
  startCalls,
  toolProgress,
  toolResult,
  wait,
  complete,
  fail,
  // Commands of the service.
  noteUse,
  finishTitle,
  keepSummary,
  // Commands for each session of a selection (`executeEach`).
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

export type OutcomeOf<K extends CommandKind> = PartsOf<Definitions[K]>["outcome"];

/** The outcome of a command, or the reason if the target's access hides the session. */
export type AnswerOf<K extends CommandKind> =
  | OutcomeOf<K>
  | (PartsOf<Definitions[K]>["target"] extends "session" ? RefusalReason : never);

/** Selects sessions, and runs one command for each. */
export type Selection = ClaimTurns | ExpireActions;

export type SelectedOutcome<S extends Selection> = S extends ClaimTurns ? StartedTurn | null : Unblocking;
