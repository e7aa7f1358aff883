// All commands, which are the changes of one session. A new one needs its file, its line here, and a caller: a method of the journal, or
// one of a service (ports/driving/services.ts, also in http/testing/in-memory-services.ts) with its route.

import { chat } from "./chat.ts";
import { claim } from "./claim.ts";
import { claimAction } from "./claim-action.ts";
import { checkpoint } from "./checkpoint.ts";
import { claimTurn } from "./claim-turn.ts";
import { hiddenFrom, losesOwner, mayBind, newOwnerOf, type Refused } from "../session-access.ts";
import type { SessionBirth } from "../session.ts";
import {
  turnThatWrites,
  type Definition,
  type Disposition,
  type Needs,
  type StoredFacts,
  type Targets,
} from "./command.ts";
import { complete } from "./complete.ts";
import { deleteSession } from "./delete.ts";
import type { SessionDraft } from "./draft.ts";
import { expireActions } from "./expire-actions.ts";
import { fail } from "./fail.ts";
import { finishTitle } from "./finish-title.ts";
import { fork } from "./fork.ts";
import { interrupt } from "./interrupt.ts";
import { noteUse } from "./note-use.ts";
import { open } from "./open.ts";
import { pin } from "./pin.ts";
import { rename } from "./rename.ts";
import { decideAction } from "./decide-action.ts";
import { setModel } from "./set-model.ts";
import { startCalls } from "./start-calls.ts";
import { stepWithCalls } from "./step-with-calls.ts";
import { toolProgress } from "./tool-progress.ts";
import { toolResult } from "./tool-result.ts";
import { transfer } from "./transfer.ts";
import { wait } from "./wait.ts";

const DEFINITIONS = {
  // Commands of people and clients.
  open,
  fork,
  chat,
  interrupt,
  rename,
  pin,
  setModel,
  claim,
  transfer,
  claimAction,
  decideAction,
  delete: deleteSession,
  // Commands of a running turn, fenced by its lease and epoch.
  checkpoint,
  stepWithCalls,
  startCalls,
  toolProgress,
  toolResult,
  wait,
  complete,
  fail,
  // Commands of the service.
  noteUse,
  finishTitle,
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
  | (PartsOf<Definitions[K]>["target"] extends "session" ? Refused : never);

/** Returns the definition of a command. Callers know its types by the command's kind. */
function definitionOf(kind: CommandKind): Definition<keyof Targets, unknown, Needs, unknown> {
  return DEFINITIONS[kind] as unknown as Definition<keyof Targets, unknown, Needs, unknown>;
}

/** The result of a command's `decide`. A person's decision is an `ActionAnswer`. */
export interface Decision {
  readonly outcome: unknown;
  readonly disposition: Disposition;
}

/** Returns the id of the session that a command changes. */
export function sessionOf({ target }: SessionCommand): string {
  return "turn" in target ? target.turn.sessionId : target.session;
}

/** Returns the initial values of a session that the command may create, `null` if it must exist. */
export function birthOf({ target }: SessionCommand): SessionBirth | null {
  return "birth" in target ? target.birth : null;
}

/** Returns true if the command's answer holds the whole session. */
export function loadsSession({ target }: SessionCommand): boolean {
  return "load" in target && target.load;
}

/** Returns the facts that a command and its answer need. */
export function needsOf(command: SessionCommand): Needs {
  const needs = definitionOf(command.kind).needs(command.input);
  return loadsSession(command) ? { ...needs, snapshot: true } : needs;
}

/**
 * Decides a command on a draft, for both stores. Returns `null` if its turn may no longer write or its
 * incarnation has ended. A lease that expires at or before `leasesAt` (milliseconds on the store's clock) no
 * longer permits writes.
 */
export function decideCommand(
  { kind, target, input }: SessionCommand,
  draft: SessionDraft,
  facts: StoredFacts,
  leasesAt: number,
): Decision | null {
  const { decide, disposition } = definitionOf(kind);
  const decided = (given: Parameters<typeof decide>[1]): Decision => {
    const outcome = decide(draft, given, input);
    return { outcome, disposition: disposition(outcome) };
  };
  if ("turn" in target) {
    const [openTurns, lease] = [facts.openTurns(), facts.lease()];
    const turn = turnThatWrites(draft.session, openTurns, target.turn, { lease, at: leasesAt });
    return turn === null || lease === null ? null : decided({ turn, openTurns, lease });
  }
  if ("incarnation" in target && target.incarnation !== draft.session.life) return null;
  if ("access" in target && target.access !== null) {
    const hidden = hiddenFrom(draft.session, target.access);
    if (hidden !== null) return { outcome: hidden, disposition: "hidden" };
    const owner = newOwnerOf(draft.session, target.access);
    if (owner !== null) draft.changeOwner(owner);
    const before = draft.session;
    const decision = decided(facts);
    if (decision.disposition !== "commit") return decision;
    if (!mayBind(before, draft.session, target.access))
      return { outcome: "wallet_not_proved", disposition: "hidden" };
    if (losesOwner(before, draft.session, target.access)) draft.changeOwner(null);
    return decision;
  }
  return decided(facts);
}
