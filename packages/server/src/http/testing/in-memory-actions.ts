import type { Action } from "@colloquy/protocol";
import type { ActionAnswer } from "../../core/decisions/actions.ts";
import { NotFound, ServiceError } from "../../core/errors.ts";
import type { ActionService, AdmitNewSession } from "../../core/ports/services.ts";

export class InMemoryActions implements ActionService {
  /** What was asked last. */
  readonly last: { list?: string; decide?: readonly [string, string, ActionAnswer] } = {};
  /** What every action is answered with, or why not. */
  answer: Action | ServiceError = new NotFound("action_not_found", "There is no such action.");

  async list(sessionId: string, admit: AdmitNewSession): Promise<readonly Action[]> {
    admit?.();
    this.last.list = sessionId;
    return this.answer instanceof ServiceError ? [] : [this.answer];
  }

  async decide(sessionId: string, actionId: string, answer: ActionAnswer): Promise<Action> {
    this.last.decide = [sessionId, actionId, answer];
    if (this.answer instanceof ServiceError) throw this.answer;
    return this.answer;
  }
}
