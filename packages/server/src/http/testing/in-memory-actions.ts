import type { Action, ActionClaim, PendingAction } from "@colloquy/protocol";
import type { ActionAnswer } from "../../core/commands/decide-action.ts";
import { OtherApp, ServiceError } from "../../core/errors.ts";
import type { ActionService, ClaimRequest, NewSessionOptions } from "../../core/ports/driving/services.ts";
import { hiddenFrom, type SessionAccess } from "../../core/session-access.ts";

export const ACTION: Action = {
  id: "019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b10",
  kind: "question",
  tool: "ask_user",
  call_id: "c1",
  created_at: "2026-11-20T12:00:00.000Z",
  expires_at: "2026-11-20T12:10:00.000Z",
  request: { question: "Which?", choices: [] },
  status: "approved",
  result: { answer: "This one" },
  resolved_at: "2026-11-20T12:01:00.000Z",
};

export class InMemoryActions implements ActionService {
  /** The last requests. */
  readonly last: {
    list?: string;
    decide?: readonly [string, string, ActionAnswer];
    claim?: readonly [string, string, ClaimRequest];
  } = {};
  /** The result of every request, or its error. */
  answer: Action | ServiceError = ACTION;
  readonly #appOf: (sessionId: string) => string | null;

  /** `appOf` returns the App of a session, or `null`. */
  constructor(appOf: (sessionId: string) => string | null) {
    this.#appOf = appOf;
  }

  async list(
    sessionId: string,
    _access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<readonly Action[]> {
    await creation?.admit?.();
    this.last.list = sessionId;
    return this.answer instanceof ServiceError ? [] : [this.answer];
  }

  async pending(): Promise<readonly PendingAction[]> {
    return [];
  }

  async claim(
    sessionId: string,
    actionId: string,
    request: ClaimRequest,
    access: SessionAccess | null,
  ): Promise<ActionClaim> {
    if (hiddenFrom({ app: this.#appOf(sessionId), owner: null }, access) !== null) throw new OtherApp();
    this.last.claim = [sessionId, actionId, request];
    if (this.answer instanceof ServiceError) throw this.answer;
    return { claim: request.renews ?? "019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b11", expires_at: ACTION.expires_at };
  }

  async decide(
    sessionId: string,
    actionId: string,
    answer: ActionAnswer,
    access: SessionAccess | null,
  ): Promise<Action> {
    if (hiddenFrom({ app: this.#appOf(sessionId), owner: null }, access) !== null) throw new OtherApp();
    this.last.decide = [sessionId, actionId, answer];
    if (this.answer instanceof ServiceError) throw this.answer;
    return this.answer;
  }
}
