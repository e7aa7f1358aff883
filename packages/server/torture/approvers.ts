// Simulated approvers list pending actions and decide some concurrently. Others, who must not decide, try to.

import { setTimeout as sleep } from "node:timers/promises";
import type { ApproverAction } from "@colloquy/protocol";
import { requestOf, type ApprovalLedger, type Decision, type ListedPage } from "./approval-ledger.ts";
import type { Answer } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";
import { nextMoment } from "./ledger.ts";
import type { Office } from "./office.ts";
import { mayDecide, OFFICE_TOOLS, type OfficeToolName, type OfficeUser } from "./office-rules.ts";
import { SessionRequests, type Persisted, type RequestContext } from "./session-requests.ts";
import type { Violations } from "./violations.ts";

/** Actions that an approver decides of one list, the oldest first, so that several decide the same. */
const DECIDED = 3;
const PAUSE_MS = 400;
const LIST_LIMITS = [1, 2, 5, 50];
const DENIES = 0.4;
const COMMENTS = 0.7;
/** Share of the decisions that are sent together with another one by the same approver. */
const CHANGES_MIND = 0.2;
/** Share of the loans that an approver decides at once. Others are decided as they expire, within so many milliseconds. */
const EARLY_LOANS = 0.1;
const EXPIRY_MS = 200;
/** Milliseconds before the end of a loan within which approvers wait for it. */
const SOON_MS = 1_000;
/** Share of the lists after which somebody tries to decide who must not. */
const INTRUDES = 0.2;

export interface ApproverContext extends RequestContext {
  readonly violations: Violations;
}

/** Works until `ended` is aborted. Once `hurrying` is aborted, no action is left for later. */
export async function runApprover(
  user: OfficeUser,
  office: Office,
  context: ApproverContext,
  random: Random,
  hurrying: AbortSignal,
  ended: AbortSignal,
): Promise<void> {
  const approver = new Approver(user, office, context, random);
  while (!ended.aborted) {
    const listed = await approver.list();
    const due = listed.filter((action) => hurrying.aborted || approver.isDue(action)).slice(0, DECIDED);
    await Promise.all(due.map((action) => approver.decide(action, hurrying)));
    if (listed.length > 0 && random.chance(INTRUDES)) await approver.intrude(random.pick(listed));
    await sleep(random.next() * PAUSE_MS);
  }
}

/** Returns a decision of a user, with a comment that tells it from others. */
export function newDecision(random: Random, name: string | null): Decision {
  return {
    decision: random.chance(DENIES) ? "deny" : "approve",
    comment: random.chance(COMMENTS) ? `Remark ${random.integer(1, 1e9)}.` : null,
    name,
  };
}

/** Sends a decision until it is answered, and checks the answer. */
export async function sendDecision(
  { request, action }: { readonly request: number; readonly action: string },
  decision: Decision,
  ledger: ApprovalLedger,
  post: (path: string, body: object) => Promise<Persisted>,
): Promise<void> {
  const sent = ledger.send(request, decision, nextMoment());
  const { answer, asked } = await post(`/api/actions/${action}`, bodyOf(decision));
  ledger.answer(request, sent, answer, asked, nextMoment());
}

function bodyOf({ decision, comment }: Decision): object {
  return { decision, ...(comment !== null && { comment }) };
}

class Approver {
  readonly #user: OfficeUser;
  readonly #office: Office;
  readonly #context: ApproverContext;
  readonly #random: Random;
  /** Loans that were listed, and whether they are decided at once. */
  readonly #loans = new Map<string, boolean>();

  constructor(user: OfficeUser, office: Office, context: ApproverContext, random: Random) {
    this.#user = user;
    this.#office = office;
    this.#context = context;
    this.#random = random;
  }

  /** Reads all pages, and checks them. */
  async list(): Promise<readonly ApproverAction[]> {
    const limit = this.#random.pick(LIST_LIMITS);
    const app = this.#random.chance(0.5) ? "&app=office" : "";
    const pages: ListedPage[] = [];
    let next: string | undefined = `?status=pending&limit=${limit}${app}`;
    while (next !== undefined) {
      const { answer, asked } = await this.#persist(this.#user.authorization, `/api/actions${next}`);
      if (answer.status !== 200) {
        this.#unexpected(`list ${answer.status}`, answer);
        return [];
      }
      pages.push({ asked, actions: JSON.parse(answer.body) as readonly ApproverAction[] });
      next = /<(.*)>; rel="next"/.exec(String(answer.headers["link"] ?? ""))?.[1];
    }
    this.#office.ledger.checkList(this.#user, pages, nextMoment());
    return pages.flatMap(({ actions }) => actions);
  }

  /** Returns false for a loan that is left until it expires. */
  isDue({ id, tool, expires_at }: ApproverAction): boolean {
    if (tool !== "office_loan" || Date.parse(expires_at) - Date.now() < SOON_MS) return true;
    const isEarly = this.#loans.get(id) ?? this.#random.chance(EARLY_LOANS);
    this.#loans.set(id, isEarly);
    return isEarly;
  }

  async decide(action: ApproverAction, hurrying: AbortSignal): Promise<void> {
    const left = Date.parse(action.expires_at) - Date.now();
    if (!hurrying.aborted && left < SOON_MS)
      await sleep(Math.max(0, left + (this.#random.next() * 2 - 1) * EXPIRY_MS));
    const first = newDecision(this.#random, this.#user.name);
    const decisions = this.#random.chance(CHANGES_MIND)
      ? [first, { ...first, decision: first.decision === "deny" ? "approve" : "deny" } as const]
      : [first];
    const request = { request: requestOf(action.input), action: action.id };
    await Promise.all(
      decisions.map((decision) =>
        sendDecision(request, decision, this.#office.ledger, (path, body) =>
          this.#persist(this.#user.authorization, path, body),
        ),
      ),
    );
  }

  /** Sends a decision for people who must not decide the action. */
  async intrude(action: ApproverAction): Promise<void> {
    const { ledger } = this.#office;
    const request = requestOf(action.input);
    const intruder = this.#pickIntruder(action, request);
    const { name, authorization, session, expected } = intruder;
    const headers = session === null ? {} : { "x-session-id": session };
    const body = bodyOf(newDecision(this.#random, null));
    const { answer } = await this.#persist(authorization, `/api/actions/${action.id}`, body, headers);
    const { code = "" } = JSON.parse(answer.body) as { readonly code?: string };
    if (answer.status === 200) ledger.forbid(request, `${name} has decided it`);
    else if (code !== expected && !(answer.status === 404 && ledger.mayBeGone(request)))
      ledger.unexpected(
        request,
        `the decision of ${name} was answered ${answer.status} ${code}, not ${expected}`,
      );
  }

  #pickIntruder(action: ApproverAction, request: number) {
    const { users, forged, ledger } = this.#office;
    const tool = action.tool as OfficeToolName;
    const { requester, sessionId } = ledger.askedBy(request);
    const mayNot = users.filter((user) => !mayDecide(user, tool, requester));
    const asking = this.#office.userNamed(requester);
    const intruders = [
      { name: "a forger", authorization: forged, session: null, expected: "token_signature_wrong" },
      { name: "nobody", authorization: null, session: null, expected: "session_id_missing" },
      ...mayNot.map((user) => ({
        name: user.name,
        authorization: user.authorization,
        session: null,
        expected: refusalOf(user, tool),
      })),
      ...users
        .filter((user) => user !== asking)
        .map((user) => ({
          name: `${user.name} in the session`,
          authorization: user.authorization,
          session: sessionId,
          expected: "session_not_found",
        })),
      ...(OFFICE_TOOLS[tool].owner === "may"
        ? []
        : [
            {
              name: `${requester} in the session`,
              authorization: asking.authorization,
              session: sessionId,
              expected: "approver_required",
            },
          ]),
    ];
    return this.#random.pick(intruders);
  }

  async #persist(
    authorization: string | null,
    path: string,
    body: object | null = null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Persisted> {
    const requests = new SessionRequests(
      this.#context,
      { ...headers, ...(authorization !== null && { authorization }) },
      this.#random,
    );
    const options = body === null ? {} : { method: "POST", body: JSON.stringify(body) };
    return await requests.persist(path, options, nextMoment, (answer) => this.#unexpected(path, answer));
  }

  #unexpected(what: string, answer: Answer): void {
    const detail = `${answer.status} ${answer.body.slice(0, 300)}`;
    this.#context.violations.add("wrong answer", this.#user.name, what, detail);
  }
}

/** Returns the refusal of a user who may not decide a request for the tool. */
function refusalOf({ roles }: OfficeUser, tool: OfficeToolName): string {
  if (roles.length === 0) return "approver_unknown";
  return roles.includes(OFFICE_TOOLS[tool].role) ? "own_request" : "action_not_found";
}
