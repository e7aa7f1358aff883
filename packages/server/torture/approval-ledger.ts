// Records what clients know for certain about approval requests in all sessions: sent and acknowledged decisions, and
// responses that showed each request. A moment is as in the sessions' ledgers (ledger.ts).

import { isDeepStrictEqual } from "node:util";
import type { ApproverAction, Message, Snapshot, ToolCall, ToolResult } from "@colloquy/protocol";
import type { Answer } from "./harness/http-request.ts";
import {
  isOfficeTool,
  mayDecide,
  OFFICE_TOOLS,
  type OfficeRequest,
  type OfficeToolName,
} from "./office-rules.ts";
import type { OfficeUser } from "./office-rules.ts";
import type { ViolationKind, Violations } from "./violations.ts";

type CallDecision = NonNullable<ToolCall["decision"]>;

/** Tolerance between the clocks of clients and store, in milliseconds. */
const CLOCKS_MS = 1_000;

export interface Decision {
  readonly decision: "approve" | "deny";
  readonly comment: string | null;
  /** Name of the approver; `null` if the session's user decided. */
  readonly name: string | null;
}

export interface SentDecision extends Decision {
  /** Moment of the first attempt. */
  readonly sent: number;
  /** Time of the first attempt, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** One page of a list of pending actions. */
export interface ListedPage {
  /** Moment at which it was requested. */
  readonly asked: number;
  readonly actions: readonly ApproverAction[];
}

/** An action as a list or a snapshot shows it. */
interface ShownAction {
  readonly id: string;
  readonly tool: string;
  readonly expires_at: string;
}

interface KnownRequest extends OfficeRequest {
  readonly sessionId: string;
  /** Name of the user who asks. */
  readonly requester: string;
  /** Id of its action, once it was shown. */
  action: string | null;
  expiresAt: number;
  /** Moment of the first response that listed it as pending. */
  pendingSince: number | null;
  /** Moment of a response whose list did not contain it. */
  absentAt: number | null;
  readonly sent: SentDecision[];
  acknowledged: { readonly status: CallDecision["status"]; readonly since: number } | null;
  /** Decisions refused because of a different one. */
  readonly refused: Set<CallDecision["status"]>;
  /** True if a decision was refused because the turn was stopped. */
  isCancelled: boolean;
  /** The decision in a snapshot. */
  shown: { readonly decision: CallDecision; readonly since: number } | null;
}

export class ApprovalLedger {
  readonly #violations: Violations;
  readonly #requests = new Map<number, KnownRequest>();
  readonly #ofSession = new Map<string, KnownRequest[]>();
  /** Requests that were shown as pending, without a known decision. */
  readonly #pending = new Set<KnownRequest>();
  /** Sessions whose turns a client may have stopped, and those that may have lost messages. */
  readonly #stoppable = new Set<string>();
  readonly #removable = new Set<string>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  /** Number of requests with an acknowledged decision. */
  get decided(): number {
    return [...this.#requests.values()].filter(({ acknowledged }) => acknowledged !== null).length;
  }

  /** Number of requests that were shown as expired. */
  get expired(): number {
    return [...this.#requests.values()].filter(({ shown }) => shown?.decision.status === "expired").length;
  }

  /** Records a message that asks for a call. */
  ask({ tool, request }: OfficeRequest, sessionId: string, requester: string): void {
    const known: KnownRequest = {
      tool,
      request,
      sessionId,
      requester,
      action: null,
      expiresAt: Number.POSITIVE_INFINITY,
      pendingSince: null,
      absentAt: null,
      sent: [],
      acknowledged: null,
      refused: new Set(),
      isCancelled: false,
      shown: null,
    };
    this.#requests.set(request, known);
    const others = this.#ofSession.get(sessionId);
    if (others === undefined) this.#ofSession.set(sessionId, [known]);
    else others.push(known);
  }

  /** Records that a client is about to stop the turns of a session. */
  mayStop(sessionId: string): void {
    this.#stoppable.add(sessionId);
  }

  /** Records that a client is about to remove messages of a session, or the session. */
  mayRemove(sessionId: string): void {
    this.#stoppable.add(sessionId);
    this.#removable.add(sessionId);
  }

  /** Returns the session and the user of a request. */
  askedBy(request: number): Pick<KnownRequest, "sessionId" | "requester"> {
    return this.#know(request);
  }

  /** Returns true if an action of the session may be gone. */
  mayBeGone(request: number): boolean {
    return this.#removable.has(this.#know(request).sessionId);
  }

  /** Records that a decision is about to be sent, at a moment. */
  send(request: number, decision: Decision, moment: number): SentDecision {
    const sent = { ...decision, sent: moment, at: Date.now() };
    this.#know(request).sent.push(sent);
    return sent;
  }

  /** Checks the answer to a decision, whose attempt was sent at moment `asked`. `since` is the moment of the answer. */
  answer(request: number, sent: SentDecision, answer: Answer, asked: number, since: number): void {
    const known = this.#know(request);
    const status = sent.decision === "approve" ? "approved" : "denied";
    if (answer.status === 200) return this.#acknowledge(known, status, answer, since);
    const { code = "" } = JSON.parse(answer.body) as { readonly code?: string };
    const isDecided = known.acknowledged !== null && known.acknowledged.since < asked;
    const [isStoppable, isRemovable] = [this.#stoppable, this.#removable].map((set) =>
      set.has(known.sessionId),
    );
    if (answer.status === 404 && isRemovable === true) return;
    if (code === "action_decided") {
      known.refused.add(status);
      if (known.acknowledged?.status === status)
        this.#report("decided twice", known, `${status} was acknowledged, and an equal decision refused`);
      if (known.sent.every(({ decision }) => decision === sent.decision))
        this.#report("decided twice", known, `${status} was refused, and nothing else was ever sent`);
      return;
    }
    const wasAcknowledged = isDecided ? ` after ${known.acknowledged?.status ?? ""} was acknowledged` : "";
    const isAllowed =
      !isDecided &&
      (code === "action_cancelled" ||
        (code === "action_expired" && Date.now() >= known.expiresAt - CLOCKS_MS));
    if (code === "action_cancelled" && isStoppable !== true) known.isCancelled = true;
    if (!isAllowed)
      this.#report(
        isDecided ? "lost" : "wrong answer",
        known,
        `${status} was answered ${answer.status} ${code}${wasAcknowledged}`,
      );
  }

  #acknowledge(known: KnownRequest, status: CallDecision["status"], answer: Answer, since: number): void {
    const { id, status: answered } = JSON.parse(answer.body) as {
      readonly id: string;
      readonly status: string;
    };
    if (id !== known.action)
      this.#report("wrong answer", known, `the decision was answered with the action ${id}`);
    if (answered !== status)
      this.#report("decided twice", known, `${status} was answered with the decision ${answered}`);
    known.acknowledged ??= { status, since };
    this.#pending.delete(known);
    if (known.acknowledged.status !== status)
      this.#report("decided twice", known, `${status} was acknowledged after ${known.acknowledged.status}`);
    if (known.refused.has(status))
      this.#report("decided twice", known, `${status} was acknowledged after an equal decision was refused`);
    const isInTime = known.sent.some(
      ({ decision, at }) =>
        (decision === "approve") === (status === "approved") && at < known.expiresAt + CLOCKS_MS,
    );
    if (!isInTime)
      this.#report("wrong answer", known, `${status} was sent and acknowledged after it expired`);
  }

  /** Records that a decision was accepted from somebody who must not decide. */
  forbid(request: number, detail: string): void {
    this.#report("forbidden decision", this.#know(request), detail);
  }

  /** Records an answer that the contract does not allow. */
  unexpected(request: number, detail: string): void {
    this.#report("wrong answer", this.#know(request), detail);
  }

  /** Checks a whole list of an approver. `answered` is the moment of its last page. */
  checkList(
    lister: Pick<OfficeUser, "name" | "roles">,
    pages: readonly ListedPage[],
    answered: number,
  ): void {
    const listed = new Set<KnownRequest>();
    let last = "";
    for (const { asked, actions } of pages) {
      for (const action of actions) {
        const known = this.#find(action, action.input);
        if (known === null) continue;
        if (listed.has(known)) this.#report("doubled", known, `is in the list of ${lister.name} twice`);
        listed.add(known);
        if (action.created_at < last)
          this.#report("disordered", known, `is after a younger request in the list of ${lister.name}`);
        last = action.created_at;
        if (!mayDecide(lister, known.tool, known.requester))
          this.#report(
            "forbidden decision",
            known,
            `is in the list of ${lister.name}, who must not decide it`,
          );
        this.#seePending(known, asked, answered, `in the list of ${lister.name}`);
      }
    }
    const begun = pages[0]?.asked ?? answered;
    const now = Date.now();
    for (const known of this.#pending) {
      if (listed.has(known) || !mayDecide(lister, known.tool, known.requester)) continue;
      const mustBeListed = known.pendingSince !== null && known.pendingSince < begun && now < known.expiresAt;
      if (mustBeListed) known.absentAt ??= answered;
    }
  }

  /** Checks a snapshot that was requested at moment `asked`. `answered` is the moment of the answer. */
  checkSnapshot(snapshot: Snapshot, asked: number, answered: number): void {
    for (const action of snapshot.pending_actions) {
      const known = isOfficeTool(action.tool) ? this.#find(action, inputOf(action)) : null;
      if (known === null || action.kind !== "approval") continue;
      const expected = OFFICE_TOOLS[known.tool].owner === "may" ? "also" : "only";
      if (action.approvers !== expected)
        this.#report("wrong answer", known, `has approvers ${action.approvers ?? "absent"}, not ${expected}`);
      this.#seePending(known, asked, answered, "in a snapshot");
    }
    const calls = new Map(
      officeCalls(snapshot.messages).map(({ call }) => [requestOf(call.arguments), call]),
    );
    for (const [request, { decision = null }] of calls) {
      const known = this.#requests.get(request);
      if (known !== undefined) this.#checkDecision(known, decision, asked, answered);
    }
    for (const known of this.#ofSession.get(snapshot.session_id) ?? []) {
      const isGone = !calls.has(known.request) && !this.#removable.has(known.sessionId);
      if (isGone && known.acknowledged !== null && known.acknowledged.since < asked)
        this.#report("lost", known, "its decision was acknowledged, and its call is not in the session");
    }
    for (const known of this.#ofSession.get(snapshot.session_id) ?? []) this.#checkEvents(known, snapshot);
  }

  /** Checks that an action was announced, decided and reminded of at most once. */
  #checkEvents(known: KnownRequest, { system_events: events }: Snapshot): void {
    for (const type of ["action_requested", "action_resolved", "action_reminder"]) {
      const found = events.filter((event) => event.type === type && event.payload["id"] === known.action);
      if (found.length > 1) this.#report("decided twice", known, `has ${found.length} events ${type}`);
    }
  }

  #checkDecision(known: KnownRequest, decision: CallDecision | null, asked: number, answered: number): void {
    const { acknowledged, shown } = known;
    if (decision === null) {
      if (acknowledged !== null && acknowledged.since < asked)
        this.#report("lost", known, `${acknowledged.status} was acknowledged, and the call has no decision`);
      if (shown !== null && shown.since < asked)
        this.#report("changed after sealed", known, `was ${shown.decision.status}, and has no decision`);
      return;
    }
    if (shown === null) this.#checkShown(known, decision);
    else if (!isDeepStrictEqual(shown.decision, decision))
      this.#report(
        "changed after sealed",
        known,
        `was decided ${JSON.stringify(shown.decision)}, now ${JSON.stringify(decision)}`,
      );
    known.shown ??= { decision, since: answered };
    this.#pending.delete(known);
  }

  /** Checks a stored decision, which must be one that was sent, and the acknowledged one. */
  #checkShown(known: KnownRequest, decision: CallDecision): void {
    const { status, name = null, comment = null, by } = decision;
    const { acknowledged, sent } = known;
    if (acknowledged !== null && acknowledged.status !== status)
      this.#report("lost", known, `${acknowledged.status} was acknowledged, and it is ${status}`);
    if (known.refused.has(status))
      this.#report(
        "decided twice",
        known,
        `${status} was refused because of another decision, and it is stored`,
      );
    if (known.isCancelled) this.#report("lost", known, `was answered as cancelled, and is ${status}`);
    if (status === "expired") {
      if (Date.now() < known.expiresAt - CLOCKS_MS) this.#report("wrong answer", known, "expired too early");
      return;
    }
    const origin = sent.find(
      (one) =>
        (one.decision === "approve") === (status === "approved") &&
        one.name === name &&
        one.comment === comment &&
        by === (one.name === null ? "user" : "approver"),
    );
    if (origin === undefined)
      this.#report("forbidden decision", known, `nobody has sent ${JSON.stringify(decision)}`);
    else if (acknowledged !== null && origin.sent > acknowledged.since)
      this.#report("decided twice", known, `${JSON.stringify(decision)} was sent after one was acknowledged`);
  }

  /** Checks the calls of an idle session: each has the outcome of its decision. */
  checkSettled({ messages, session_id: sessionId }: Snapshot, effects: ReadonlyMap<number, number>): void {
    for (const { call, message, result } of officeCalls(messages)) {
      const known = this.#requests.get(requestOf(call.arguments));
      if (known === undefined) continue;
      const isStopped = message.status === "interrupted" || message.status === "failed";
      if (known.isCancelled && message.status !== "failed")
        this.#report("wrong answer", known, "was answered as cancelled, and nobody has stopped its turn");
      const problem = outcomeProblem(
        known,
        call.decision,
        result,
        effects.get(known.request) ?? 0,
        isStopped,
      );
      if (problem !== null) this.#report("forbidden effect", known, `${problem}, in session ${sessionId}`);
      const isAnswer = message.status === "complete" && message.steps?.to === undefined;
      const output = typeof result?.output === "string" ? result.output : "";
      if (isAnswer && !message.content.includes(output))
        this.#report("lost", known, `has ${output}, the answer is ${message.content.slice(0, 200)}`);
    }
  }

  /** Checks at the end of a run that no call has run twice, or without an approval. */
  checkEffects(effects: ReadonlyMap<number, number>): void {
    for (const [request, times] of effects) {
      const known = this.#requests.get(request);
      if (known === undefined)
        this.#violations.add("forbidden effect", "office", `request ${request}`, "is unknown");
      else if (times > 1) this.#report("forbidden effect", known, `its call has run ${times} times`);
      else if (known.sent.every(({ decision }) => decision === "deny") || isDenied(known))
        this.#report("forbidden effect", known, "its call has run without an approval");
    }
  }

  /** Records that an answer shows a request as pending. */
  #seePending(known: KnownRequest, asked: number, answered: number, where: string): void {
    const { acknowledged, shown, absentAt } = known;
    if (acknowledged !== null && acknowledged.since < asked)
      this.#report(
        "still pending",
        known,
        `${acknowledged.status} was acknowledged, and it is pending ${where}`,
      );
    if (shown !== null && shown.since < asked)
      this.#report("still pending", known, `was ${shown.decision.status}, and is pending ${where}`);
    if (absentAt !== null && absentAt < asked)
      this.#report("lost", known, `was pending before and after a list that lacked it, now ${where}`);
    known.pendingSince ??= answered;
    if (acknowledged === null && shown === null) this.#pending.add(known);
  }

  /** Returns the request of an action; `null`, and a violation, if nobody has made it. */
  #find({ id, tool, expires_at }: ShownAction, input: unknown): KnownRequest | null {
    const known = this.#requests.get(requestOf(input));
    if (known?.tool !== tool) {
      this.#violations.add(
        "foreign message",
        "office",
        `action ${id}`,
        `nobody has asked for ${JSON.stringify(input)}`,
      );
      return null;
    }
    known.action ??= id;
    known.expiresAt = Date.parse(expires_at);
    if (known.action !== id) this.#report("doubled", known, `has the actions ${known.action} and ${id}`);
    return known;
  }

  #know(request: number): KnownRequest {
    const known = this.#requests.get(request);
    if (known === undefined) throw new Error(`Nobody has made the request ${request}`);
    return known;
  }

  #report(kind: ViolationKind, { request, sessionId, tool }: KnownRequest, detail: string): void {
    this.#violations.add(kind, sessionId, `request ${request} for ${tool}`, detail);
  }
}

interface OfficeCall {
  readonly call: ToolCall;
  readonly message: Message;
  readonly result: ToolResult | undefined;
}

function officeCalls(messages: readonly Message[]): readonly OfficeCall[] {
  return messages.flatMap((message) =>
    (message.tool_calls ?? [])
      .filter(({ name }) => isOfficeTool(name))
      .map((call) => ({
        call,
        message,
        result: message.tool_results?.find(({ call_id: id }) => id === call.id),
      })),
  );
}

/** Returns the number of a request in the input of its call; NaN for other inputs. */
export function requestOf(input: unknown): number {
  return Number((input as { readonly request?: unknown } | null)?.request);
}

function inputOf({ request }: Snapshot["pending_actions"][number]): unknown {
  return "input" in request ? request.input : null;
}

function isDenied({ acknowledged, shown }: KnownRequest): boolean {
  return (acknowledged?.status ?? shown?.decision.status ?? "approved") !== "approved";
}

/** Returns what is wrong with the outcome of a call that ran so many times; `null` if nothing is. */
function outcomeProblem(
  { request, tool }: KnownRequest,
  decision: CallDecision | undefined,
  result: ToolResult | undefined,
  times: number,
  isStopped: boolean,
): string | null {
  const output = JSON.stringify(result?.output);
  if (decision === undefined) {
    if (times > 0) return "has run without a decision";
    return isStopped ? null : `was never decided, and has the result ${output}`;
  }
  if (decision.status !== "approved") {
    if (times > 0) return `was ${decision.status}, and has run`;
    return result?.is_error === true && result.output === notMade(tool, decision)
      ? null
      : `was ${decision.status}, and has the result ${output}`;
  }
  if (times > 1) return `has run ${times} times`;
  if (result?.is_error !== false) return null;
  if (times === 0) return "has a result, and has not run";
  return result.output === `granted ${request}` ? null : `has the result ${output}`;
}

/** Returns the result of a call that was denied or expired. */
function notMade(tool: OfficeToolName, { status, by, comment }: CallDecision): string {
  if (status === "expired")
    return OFFICE_TOOLS[tool].owner === "may"
      ? "The user did not answer in time, so this call was not made."
      : "No approver answered in time, so this call was not made.";
  const denied = by === "approver" ? "An approver denied this call." : "The user denied this call.";
  return comment === undefined ? denied : `${denied} Comment: ${comment}`;
}
