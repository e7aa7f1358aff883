// An interactive conversation in a terminal: coordinates output, the input line and the flow of turns.

import { ColloquyError, type LiveSession, mayUserDecide } from "@colloquy/client";
import type { Action, Message, PendingAction, Snapshot } from "@colloquy/protocol";
import { CommandFailure, type CommandParts, type ExitCode } from "../command.ts";
import { harmlessLine, harmlessText } from "../terminal-text.ts";
import type { ChatContext } from "./chat-context.ts";
import { describeAction, readDecision } from "./decisions.ts";
import { FollowedSession } from "./followed-session.ts";
import { Interruption } from "./interruption.ts";
import { Screen } from "./screen.ts";
import { runSlashCommand } from "./slash-commands.ts";
import { Terminal } from "./terminal.ts";
import type { Tone } from "./transcript.ts";

export class Conversation {
  readonly context: ChatContext;
  /** Ids in the most recently shown list; `null` if none was shown. */
  listedIds: readonly string[] | null = null;
  /** Ids of the files for the next message. */
  attachments: readonly string[] = [];
  readonly #parts: CommandParts;
  readonly #isInProcess: boolean;
  readonly #terminal: Terminal;
  readonly #screen: Screen;
  #followed: FollowedSession;
  readonly #interruption: Interruption;
  #ended: ExitCode | null = null;
  /** Ids of reported actions that only approvers may decide. */
  readonly #reported = new Set<string>();
  #remembered = "";

  constructor(parts: CommandParts, context: ChatContext, session: LiveSession, isInProcess: boolean) {
    this.#parts = parts;
    this.context = context;
    this.#isInProcess = isInProcess;
    this.#screen = new Screen(parts.host.stdout);
    this.#interruption = new Interruption({
      onLeave: (code) => this.leave(code),
      onFailure: (error) => this.#notInterrupted(error),
    });
    this.#terminal = new Terminal(parts.host, {
      onInterrupt: () => this.#interruption.press(this.session),
      onEnd: (code) => this.leave(code),
    });
    this.#followed = this.#follow(session);
  }

  get session(): LiveSession {
    return this.#followed.session;
  }

  /** Runs until the user leaves and returns the exit code. */
  async run(): Promise<ExitCode> {
    this.#terminal.open();
    try {
      await this.#greet();
      while (this.#ended === null) await this.#step();
      await this.#remember();
      return this.#ended;
    } finally {
      this.#followed.stop();
      this.#terminal.close();
      this.#screen.endLine();
    }
  }

  /** Ends the conversation and cancels pending requests, which may never complete. */
  leave(code: ExitCode = 0): void {
    this.#ended ??= code;
    this.#interruption.cancel("left");
    this.#followed.stop();
  }

  /** Switches to another conversation. */
  async open(session: LiveSession): Promise<void> {
    if (this.#ended !== null) return;
    this.#followed.stop();
    this.#followed = this.#follow(session);
    this.attachments = [];
    await this.#begin();
  }

  showEarlier(signal: AbortSignal): Promise<boolean> {
    return this.#followed.showEarlier(signal);
  }

  /** Resolves when the condition holds or the session has ended. */
  until(condition: () => boolean): Promise<void> {
    return this.#followed.until(condition);
  }

  /** Width of the terminal. */
  get columns(): number {
    return this.#parts.host.stdout.columns || 80;
  }

  /** Writes a line above the input line, with terminal control sequences removed. */
  say(tone: Tone | null, text: string): void {
    this.#above(() => this.#screen.line(tone, harmlessText(text)));
  }

  #follow(session: LiveSession): FollowedSession {
    return new FollowedSession(session, {
      onPieces: (pieces) => {
        if (pieces.length > 0) this.#above(() => this.#screen.write(pieces));
        else this.#showLine();
      },
      onConnection: (tone, text) => this.say(tone, text),
    });
  }

  async #greet(): Promise<void> {
    if (!(await this.#begin())) return;
    const where = this.#isInProcess ? "private service" : this.context.serviceName;
    const model = this.session.getSnapshot()?.model ?? "";
    this.say("quiet", `${model}, ${where}. Type /help for a list of commands.`);
  }

  /** Opens the session. On failure, reports the reason, leaves and returns false. */
  async #begin(): Promise<boolean> {
    const snapshot = await this.try(() => this.#followed.begin());
    if (snapshot === null) this.leave(1);
    return snapshot !== null;
  }

  /** Handles one action of the user or the assistant. */
  async #step(): Promise<void> {
    await this.#remember();
    // No `await` between reading the state and waiting for changes, or a change could be missed.
    const { failure } = this.#followed;
    const snapshot = this.session.getSnapshot();
    if (failure !== null || snapshot === null) {
      this.say("error", failure?.message ?? "The conversation no longer exists.");
      return this.leave(1);
    }
    const action = snapshot.pending_actions.find(mayUserDecide);
    if (action !== undefined) return await this.#decide(action);
    this.#reportApprovals(snapshot);
    if (snapshot.is_processing) {
      if (this.#interruption.isUnwanted(snapshot)) this.#interruption.press(this.session);
      return await this.#followed.changed();
    }
    this.#interruption.reset();
    await this.#talk();
  }

  /** Reports each action that only approvers may decide, once. */
  #reportApprovals({ pending_actions: pending }: Snapshot): void {
    for (const action of pending) {
      if (this.#reported.has(action.id)) continue;
      this.#reported.add(action.id);
      this.say("warning", `${describeAction(action).explanation}. It waits for an approver.`);
    }
  }

  async #talk(): Promise<void> {
    this.#screen.endLine();
    const question = { prompt: this.#screen.styled("user", "> "), isMessage: true };
    const entry = await this.#ask(question, () => this.session.getSnapshot()?.is_processing === true);
    if (entry.kind === "interrupt" || entry.kind === "end") return this.leave();
    if (entry.kind === "withdrawn" || entry.text.trim() === "") return;
    if (entry.text.startsWith("/")) return await runSlashCommand(this, entry.text);
    await this.send(entry.text);
  }

  /**
   * Sends a message with the attached files. It replaces the message `replaced`, whose files it keeps, and
   * everything after it.
   */
  async send(text: string, replaced?: Message): Promise<void> {
    const { publicKey } = this.context;
    const attachments = [...(replaced?.attachments ?? []).map(({ id }) => id), ...this.attachments];
    const options = {
      ...(publicKey !== null && { publicKey }),
      ...(replaced !== undefined && { replaces: replaced.id }),
      ...(attachments.length > 0 && { attachments }),
    };
    await this.try(async (signal) => {
      await this.#followed.send(text, { signal, ...options });
      this.attachments = [];
    }, text);
  }

  async #decide(action: PendingAction): Promise<void> {
    const { explanation, prompt } = describeAction(action);
    this.say("warning", explanation);
    const isGone = (): boolean =>
      this.session.getSnapshot()?.pending_actions.every(({ id }) => id !== action.id) !== false;
    for (;;) {
      const entry = await this.#ask({ prompt, isMessage: false }, isGone);
      if (entry.kind === "withdrawn") return;
      if (entry.kind === "interrupt") {
        this.#interruption.press(this.session);
        return await this.#followed.until(() => isGone() || this.#interruption.hasFailed);
      }
      if (entry.kind === "end") return this.leave();
      const decision = readDecision(action, entry.text);
      if ("problem" in decision) {
        this.say("warning", decision.problem);
        continue;
      }
      const decided = await this.try((signal) =>
        "output" in decision
          ? this.#reportOutput(action, decision.output, signal)
          : this.session.resolve(action.id, decision, { signal }),
      );
      if (decided === null) continue;
      this.#interruption.reset();
      return await this.#followed.until(isGone);
    }
  }

  /** Claims a call of a client tool and reports its output. */
  async #reportOutput({ id }: PendingAction, output: unknown, signal: AbortSignal): Promise<Action> {
    const { claim } = await this.context.client.claimAction(this.session.id, id, { signal });
    return await this.session.resolve(id, { decision: "approve", claim, result: { output } }, { signal });
  }

  /** Prompts until there is an entry or the prompt becomes obsolete. */
  async #ask(
    { prompt, isMessage }: { readonly prompt: string; readonly isMessage: boolean },
    isOver: () => boolean,
  ) {
    const withdrawal = new AbortController();
    const isObsolete = (): boolean => this.#ended !== null || isOver() || this.#followed.failure !== null;
    const watch = async (): Promise<void> => {
      while (!withdrawal.signal.aborted && !isObsolete()) await this.#followed.changed();
      withdrawal.abort();
    };
    void watch();
    try {
      return await this.#terminal.editor.ask({ prompt, isMessage, signal: withdrawal.signal });
    } finally {
      withdrawal.abort();
      this.#followed.wake();
    }
  }

  /** Runs a request to the service. Reports a failure or a cancellation and returns `null`. */
  async try<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    message: string | null = null,
  ): Promise<Result | null> {
    const signal = this.#interruption.begin(message);
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted) this.say("quiet", "(canceled)");
      else this.#sayFailure(error);
      return null;
    } finally {
      this.#interruption.end();
    }
  }

  #sayFailure(error: unknown): void {
    if (!(error instanceof ColloquyError || error instanceof CommandFailure)) throw error;
    this.say("error", harmlessLine(error.message));
  }

  #notInterrupted(error: unknown): void {
    if (this.#ended !== null) return;
    this.say("error", harmlessLine(error instanceof Error ? error.message : String(error)));
    this.#followed.wake();
  }

  /**
   * Updates the list of conversations if id or title changed. Does not count as a request to the service, so
   * that Ctrl-C interrupts the answer.
   */
  async #remember(): Promise<void> {
    const snapshot = this.session.getSnapshot();
    if (snapshot === null || this.#remembered === `${snapshot.session_id} ${snapshot.title}`) return;
    this.#remembered = `${snapshot.session_id} ${snapshot.title}`;
    await this.context.threads.remember(snapshot).catch((error: unknown) => this.#sayFailure(error));
  }

  #above(write: () => void): void {
    this.#terminal.editor.hide();
    write();
    this.#showLine();
  }

  /** Shows the input line again if the cursor is at the start of a line. */
  #showLine(): void {
    const snapshot = this.session.getSnapshot();
    const isAnswering = snapshot?.is_processing === true && snapshot.pending_actions.length === 0;
    // Do not break the line of a streaming answer.
    if (!isAnswering) this.#screen.endLine();
    if (this.#screen.isAtStart) this.#terminal.editor.show();
  }
}
