// Turns in the store: the queue, the leases, and what a running turn writes. One method is one transaction. Methods that take a
// TurnIdentity answer `null`, and have changed nothing, when the turn may no longer write: it was interrupted, its
// session was deleted, its lease has run out, or another owner has taken it over.

import type { AskedAction } from "../../action.ts";
import type { ChatInput, ChatOutcome } from "../../commands/chat.ts";
import type { PartialText } from "../../commands/command.ts";
import type { ToolOutcomeInput } from "../../commands/tool-calls.ts";
import type { JsonValue } from "../../json.ts";
import type { MessageRecord, StepCall } from "../../message.ts";
import type { StartedTurn, StepRecord, TurnFailure, TurnIdentity, TurnState } from "../../turn.ts";
import type { Committed, SessionTarget } from "./session-store.ts";

/** One turn of a session's past, as a model is told of it. */
export interface PastTurn {
  readonly number: number;
  readonly state: TurnState;
  readonly userMessage: Pick<MessageRecord, "content">;
  /** `null` for a turn that has not started; those that an interrupt dropped unanswered are left out. */
  readonly agentMessage: MessageRecord | null;
  readonly steps: readonly StepRecord[];
}

/** What became of leases that were to be renewed. Those that are in neither list are the owner's no more. */
export interface Renewal {
  readonly renewed: readonly number[];
  /** The owner's still, but somebody is changing them right now: they run on as they were, and are to be asked for again soon. */
  readonly busy: readonly number[];
}

export interface TurnStore {
  chat(target: SessionTarget, input: ChatInput): Promise<Committed<ChatOutcome> | null>;
  /**
   * `streamed` is what this process has of the running turn's text, if it runs it. Does nothing, and answers `other_app`, when the session
   * counts as none of `apps`.
   */
  interrupt(
    target: SessionTarget,
    streamed: PartialText | null,
    apps?: readonly string[],
  ): Promise<Committed<"ok" | "other_app"> | null>;

  /**
   * Starts up to `agentMessageIds.length` runnable turns, the longest waiting first. A turn whose attempts are used up is failed
   * instead: its session is among the answers with `outcome: null`. Turns on one of `fullProviders` (the part of a rig before `/`)
   * are passed over. `models` are those of each App, its default first: a session whose rig is not among them goes on with the default. Fewer answers than asked for: no other turn was runnable, or somebody else was changing its session: a later call gets it; behind one that was failed the next one is now.
   */
  claim(
    owner: string,
    agentMessageIds: readonly string[],
    fullProviders: readonly string[],
    models: Readonly<Record<string, readonly string[]>>,
  ): Promise<readonly Committed<StartedTurn | null>[]>;
  /** How many turns wait for an owner or behind another turn, unless that one waits for a person; counting stops at `limit`. */
  countWaiting(limit: number): Promise<number>;
  /**
   * Prolongs those leases of an owner that are of the given epochs by `leaseMs`, and waits for none of them. Answers by epoch. A lease
   * that is not named runs out: its turn has stopped here without an end, and is to be run again.
   */
  renew(owner: string, epochs: readonly number[], leaseMs: number): Promise<Renewal>;
  /**
   * Makes the turns runnable whose lease has run out. With `everyOther`, also those of all owners but this one: for a
   * process that knows that it is alone. The time that they ran counts, until their leases had run out at most. Answers how many.
   */
  releaseDeadLeases(everyOther: string | null): Promise<number>;
  /**
   * Gives back those turns of an owner that are of the given epochs and have not ended: runnable at once, and this attempt does not
   * count, because nothing of theirs has crashed, though its time does. Their runs must be over. Answers how many.
   */
  handBack(owner: string, epochs: readonly number[]): Promise<number>;

  /**
   * The last turns up to and with this one, oldest first, as many as fit into `maxCharacters`, at least the last. Whether the lease still holds
   * does not matter to what is only read.
   */
  history(identity: TurnIdentity, maxCharacters: number): Promise<readonly PastTurn[] | null>;
  /** Keeps text that was streamed: `text` follows the first `offset` characters of the current step's text. */
  checkpoint(identity: TurnIdentity, offset: number, text: string): Promise<true | null>;
  /**
   * A step with the intent of its calls, but of those that are `allowed` and start later. Of a call that is among `asked` a person is asked
   * instead; each of these is one of `calls`. A call with a refusal has that for its result.
   */
  stepWithCalls(
    identity: TurnIdentity,
    step: StepRecord,
    calls: readonly StepCall[],
    asked: readonly AskedAction[],
  ): Promise<Committed<"ok"> | null>;
  /**
   * Gives the turn up, with its lease, until nobody is asked any more (`waits`); where that is so already it may be claimed at once
   * (`runnable`). From here on this identity writes no more.
   */
  wait(identity: TurnIdentity): Promise<Committed<"waits" | "runnable"> | null>;
  toolProgress(identity: TurnIdentity, callId: string, progress: JsonValue): Promise<Committed<"ok"> | null>;
  /** The intent of calls that are `allowed`: once it is committed they may run, and never again where they are `unsafe`. */
  startCalls(identity: TurnIdentity, callIds: readonly string[]): Promise<Committed<"ok"> | null>;
  /** The result of a call, with the intent of those that begin in its place. */
  toolResult(
    identity: TurnIdentity,
    outcome: ToolOutcomeInput,
    starts?: readonly string[],
  ): Promise<Committed<"ok"> | null>;
  /** Completes the turn with its last step. */
  complete(identity: TurnIdentity, step: StepRecord): Promise<Committed<"ok"> | null>;
  /** Fails the turn. `text` is the whole text that its message keeps. */
  fail(identity: TurnIdentity, text: string, failure: TurnFailure): Promise<Committed<"ok"> | null>;
}
