import type { NewAction } from "../../core/action.ts";
import type { ToolOutcomeInput } from "../../core/commands/call-results.ts";
import type { JsonValue } from "../../core/json.ts";
import type { MessageRecord, StepCall } from "../../core/message.ts";
import type { PastTurn } from "../../core/ports/driven/store.ts";
import type { NewStep, StartedTurn, StepRecord, TurnFailure } from "../../core/turn.ts";
import type { TurnJournal } from "../journal.ts";

/** A journal that records writes in order, and accepts or refuses them as configured. */
export class RecordingJournal implements TurnJournal {
  readonly entries: string[] = [];
  readonly steps: NewStep[] = [];
  readonly outcomes: ToolOutcomeInput[] = [];
  readonly calls: StepCall[] = [];
  readonly actions: NewAction[] = [];
  said = "";
  /** Reasoning of each model call. */
  readonly reasoning: { readonly step: number; text: string }[] = [];
  failure: TurnFailure | null = null;
  isClosed = false;
  /** Called before each write; its result becomes the write's result. */
  onWrite: (entry: string) => boolean | Promise<boolean> = () => true;
  readonly #turn: StartedTurn;
  readonly #before: readonly PastTurn[];
  readonly #stepsBefore: readonly StepRecord[];

  constructor(turn: StartedTurn, before: readonly PastTurn[] = [], stepsBefore: readonly StepRecord[] = []) {
    this.#turn = turn;
    this.#before = before;
    this.#stepsBefore = stepsBefore;
  }

  beginCall(step: number): void {
    this.reasoning.push({ step, text: "" });
  }

  appendReasoning(text: string): void {
    const last = this.reasoning.at(-1);
    if (last !== undefined) last.text += text;
  }

  async beginStep(): Promise<"same"> {
    return "same";
  }

  async history(): Promise<readonly PastTurn[] | null> {
    if (!(await this.#write("history"))) return null;
    const { agentMessage, number, userText } = this.#turn;
    const userMessage: MessageRecord = { ...agentMessage, role: "user", content: userText, toolResults: [] };
    const results = this.outcomes.map(({ callId, output, isError, durationMs }) => ({
      call_id: callId,
      name: "tool",
      output,
      is_error: isError,
      duration_ms: durationMs,
    }));
    const now: PastTurn = {
      number,
      state: "running",
      userMessage,
      agentMessage: { ...agentMessage, toolResults: [...agentMessage.toolResults, ...results] },
      steps: this.#stepsBefore,
    };
    return [...this.#before, now];
  }

  appendText(text: string): void {
    this.said += text;
  }

  async stepWithCalls(
    step: NewStep,
    calls: readonly StepCall[],
    actions: readonly NewAction[],
  ): Promise<boolean> {
    this.steps.push(step);
    this.calls.push(...calls);
    for (const { id, refusal } of calls) {
      if (refusal !== undefined) this.outcomes.push({ callId: id, ...refusal, durationMs: 0 });
    }
    this.actions.push(...actions);
    return await this.#write(`step ${step.number} calls ${calls.map(({ id }) => id).join(" ")}`);
  }

  async rejectStep(step: NewStep): Promise<boolean> {
    this.steps.push(step);
    return await this.#write(`reject ${step.number}`);
  }

  async wait(): Promise<boolean> {
    return await this.#write("wait");
  }

  toolProgress(callId: string, progress: JsonValue): void {
    this.entries.push(`progress ${callId} ${JSON.stringify(progress)}`);
  }

  async startCalls(callIds: readonly string[]): Promise<boolean> {
    return await this.#write(`start ${callIds.join(" ")}`);
  }

  async toolResult(outcome: ToolOutcomeInput, starts: readonly string[] = []): Promise<boolean> {
    this.outcomes.push(outcome);
    const started = starts.length === 0 ? "" : ` start ${starts.join(" ")}`;
    return await this.#write(`result ${outcome.callId}${outcome.isError ? " error" : ""}${started}`);
  }

  async complete(step: NewStep): Promise<boolean> {
    this.steps.push(step);
    return await this.#write(`complete ${step.number}`);
  }

  async fail(failure: TurnFailure): Promise<boolean> {
    this.failure = failure;
    return await this.#write(`fail ${failure.code}`);
  }

  close(): void {
    this.isClosed = true;
  }

  async #write(entry: string): Promise<boolean> {
    this.entries.push(entry);
    return await this.onWrite(entry);
  }
}
