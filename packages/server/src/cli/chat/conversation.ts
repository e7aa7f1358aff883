// A conversation in a terminal: who may write on the screen, and when it is the person's turn.

import { ColloquyError, type LiveSession } from "@colloquy/client";
import type { PendingAction } from "@colloquy/protocol";
import { CommandFailure, type CommandParts, type ExitCode } from "../command.ts";
import { harmlessLine, harmlessText } from "../harmless-text.ts";
import { type ChatPlace, rememberThread } from "./chat-place.ts";
import { askedAction, readDecision } from "./decisions.ts";
import { FollowedSession } from "./followed-session.ts";
import { Interruption } from "./interruption.ts";
import { Screen } from "./screen.ts";
import { runSlashCommand } from "./slash-commands.ts";
import { Terminal } from "./terminal.ts";
import type { Tone } from "./transcript.ts";

export class Conversation {
  readonly place: ChatPlace;
  /** Ids in the list that was shown last, `null` before one was. */
  listedIds: readonly string[] | null = null;
  readonly #parts: CommandParts;
  readonly #isInside: boolean;
  readonly #terminal: Terminal;
  readonly #screen: Screen;
  #followed: FollowedSession;
  readonly #interruption: Interruption;
  #ended: ExitCode | null = null;
  #remembered = "";

  constructor(parts: CommandParts, place: ChatPlace, session: LiveSession, isInside: boolean) {
    this.#parts = parts;
    this.place = place;
    this.#isInside = isInside;
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

  /** Answers when the person has left. */
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

  /** Whatever is waited for is not waited for any more: it may never come. */
  leave(code: ExitCode = 0): void {
    this.#ended ??= code;
    this.#interruption.giveUp("left");
    this.#followed.stop();
  }

  /** Goes on in another conversation. */
  async open(session: LiveSession): Promise<void> {
    if (this.#ended !== null) return;
    this.#followed.stop();
    this.#followed = this.#follow(session);
    await this.#begin();
  }

  /** Resolves when it holds, or when nothing will happen any more. */
  until(condition: () => boolean): Promise<void> {
    return this.#followed.until(condition);
  }

  /** Width of the terminal. */
  get columns(): number {
    return this.#parts.host.stdout.columns || 80;
  }

  /** Writes a line, above what is being typed; nothing in it drives the terminal, whoever wrote it. */
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
    const where = this.#isInside ? "a service of its own" : this.place.serviceName;
    this.say("quiet", `${this.session.getSnapshot()?.model ?? ""}, ${where}. /help says what can be typed.`);
  }

  /** Answers whether it could be opened; else it has said why, and the person has left. */
  async #begin(): Promise<boolean> {
    const snapshot = await this.try(() => this.#followed.begin());
    if (snapshot === null) this.leave(1);
    return snapshot !== null;
  }

  /** One thing that a person or the assistant does. */
  async #step(): Promise<void> {
    await this.#remember();
    // From here to where something is waited for nothing may pass unseen.
    const { failure } = this.#followed;
    const snapshot = this.session.getSnapshot();
    if (failure !== null || snapshot === null) {
      this.say("error", failure?.message ?? "The conversation is gone.");
      return this.leave(1);
    }
    const [action] = snapshot.pending_actions;
    if (action !== undefined) return await this.#decide(action);
    if (snapshot.is_processing) {
      if (this.#interruption.isUnwanted(snapshot)) this.#interruption.press(this.session);
      return await this.#followed.changed();
    }
    this.#interruption.forget();
    await this.#talk();
  }

  async #talk(): Promise<void> {
    this.#screen.endLine();
    const question = { prompt: this.#screen.styled("user", "> "), isMessage: true };
    const entry = await this.#ask(question, () => this.session.getSnapshot()?.is_processing === true);
    if (entry.kind === "interrupt" || entry.kind === "end") return this.leave();
    if (entry.kind === "withdrawn" || entry.text.trim() === "") return;
    if (entry.text.startsWith("/")) return await runSlashCommand(this, entry.text);
    const { publicKey } = this.place;
    const options = publicKey === null ? {} : { publicKey };
    await this.try((signal) => this.#followed.send(entry.text, { signal, ...options }), entry.text);
  }

  async #decide(action: PendingAction): Promise<void> {
    const { explanation, prompt } = askedAction(action);
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
      const decided = await this.try((signal) => this.session.resolve(action.id, decision, { signal }));
      if (decided === null) continue;
      this.#interruption.forget();
      return await this.#followed.until(isGone);
    }
  }

  /** Asks until there is an entry, or there is nothing to ask any more. */
  async #ask(
    { prompt, isMessage }: { readonly prompt: string; readonly isMessage: boolean },
    isOver: () => boolean,
  ) {
    const withdrawal = new AbortController();
    const watch = async (): Promise<void> => {
      while (
        !withdrawal.signal.aborted &&
        this.#ended === null &&
        !isOver() &&
        this.#followed.failure === null
      )
        await this.#followed.changed();
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

  /** Asks the service for something, such as to take a message. `null` when that failed or was given up, which is said. */
  async try<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    message: string | null = null,
  ): Promise<Result | null> {
    const signal = this.#interruption.begin(message);
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted) this.say("quiet", "(given up)");
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

  /** What has changed of what the list of conversations shows. An answer may be made meanwhile, which is what Ctrl-C then means. */
  async #remember(): Promise<void> {
    const snapshot = this.session.getSnapshot();
    if (snapshot === null || this.#remembered === `${snapshot.session_id} ${snapshot.title}`) return;
    this.#remembered = `${snapshot.session_id} ${snapshot.title}`;
    await rememberThread(this.place, snapshot).catch((error: unknown) => this.#sayFailure(error));
  }

  #above(write: () => void): void {
    this.#terminal.editor.hide();
    write();
    this.#showLine();
  }

  /** The line that is asked for comes back, when there is room for it. */
  #showLine(): void {
    const snapshot = this.session.getSnapshot();
    const isAnswering = snapshot?.is_processing === true && snapshot.pending_actions.length === 0;
    // A text that grows is gone on with.
    if (!isAnswering) this.#screen.endLine();
    if (this.#screen.isAtStart) this.#terminal.editor.show();
  }
}
