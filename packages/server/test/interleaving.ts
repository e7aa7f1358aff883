// One run of the interleavings test: performs commands and tracks what was acknowledged.

import type { Message, Snapshot } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import { MAX_ATTEMPTS } from "@colloquy/engine/internal/core/turn";
import { fullDisk } from "@colloquy/engine/internal/sessions/testing/journaled-turn";
import { FoldingReader } from "./folding-reader.ts";
import { ManualClock } from "./manual-clock.ts";
import { answer, repeatedEffects, paying, questionOf, speak, type Speech } from "./scripted-answers.ts";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { newId, parse, startService, until, type TestService } from "./service.ts";
import {
  changedIn,
  decideOne,
  editOne,
  forkInto,
  isSteered,
  removedIn,
  unknownInPrompt,
} from "./shaped-sessions.ts";
import type { AcknowledgedSession } from "./shaped-sessions.ts";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";

export const COMMANDS = [
  "chat",
  "chat",
  "steer",
  "steer",
  "say",
  "say",
  "finish",
  "finish",
  "call a tool",
  "ask a person",
  "ask a person",
  "approve",
  "deny",
  "interrupt",
  "edit",
  "edit",
  "fork",
  "rename",
  "delete",
  "crash",
  "drop a reader",
  "reconnect",
  "let time pass",
] as const;

/** Action expiry: within one "let time pass", or a few. */
export const ACTION_MS = 3_000;

export interface Command {
  readonly name: (typeof COMMANDS)[number];
  readonly session: number;
  readonly choice: number;
}

interface Followed extends AcknowledgedSession {
  reader: FoldingReader;
}

export interface InterleavingOptions {
  readonly directory: string;
  readonly memoryBytes: number;
  readonly maxRunning: number;
}

export class Interleaving {
  readonly #options: InterleavingOptions;
  readonly #clock = new ManualClock();
  readonly #sessions: Followed[] = [];
  readonly #found: string[] = [];
  #service!: TestService;
  /** Model calls waiting for the script. */
  #calls: ScriptedCall[] = [];
  /** Calls whose effect happened, in order. */
  readonly #paid: string[] = [];
  #count = 0;
  #crashes = 0;
  /** Whether a full disk prevents turns from being claimed. */
  #isFull = false;

  private constructor(options: InterleavingOptions) {
    this.#options = options;
  }

  static async start(options: InterleavingOptions): Promise<Interleaving> {
    const interleaving = new Interleaving(options);
    await interleaving.#start();
    for (let n = 0; n < 3; n += 1) {
      const id = newId();
      const reader = new FoldingReader(interleaving.#service, id);
      await reader.connect();
      interleaving.#sessions.push({ id, texts: [], sealed: [], title: null, isShaped: false, reader });
    }
    return interleaving;
  }

  async run({ name, session: index, choice }: Command): Promise<void> {
    const session = this.#sessions[index]!;
    await this.#round();
    if (name === "chat") await this.#chat(session);
    else if (name === "steer") await this.#chat(session, { busy: "steer" });
    else if (name === "interrupt") await this.#interrupt(session);
    else if (session.texts.length === 0 && (name === "edit" || name === "fork")) await this.#chat(session);
    else if (name === "edit") await this.#edit(session, choice);
    else if (name === "fork")
      await this.#fork(session, this.#sessions[(index + 1 + (choice % 2)) % 3]!, choice);
    else if (name === "rename") await this.#rename(session);
    else if (name === "delete") await this.#delete(session);
    else if (name === "crash") await this.#crash(choice % 2 === 0);
    else if (name === "drop a reader") session.reader.drop();
    else if (name === "reconnect") await session.reader.connect();
    else if (name === "approve" || name === "deny")
      this.#found.push(...(await decideOne(this.#service, session.id, name, choice)));
    else if (name === "let time pass") await this.#pass(1 + choice * 700);
    else this.#speak(name, choice);
    await this.#round();
    this.#checkOneTurnEach();
    for (const one of this.#sessions) this.#found.push(...(await removedIn(this.#service, one)));
    await this.#checkFolds();
  }

  /** Completes all turns, and waits until all subscribers have caught up. */
  async finish(): Promise<void> {
    this.#isFull = false;
    for (const { reader } of this.#sessions) await reader.connect();
    for (let round = 0; ; round += 1) {
      if (round > 500)
        throw new Error(`Sessions did not become idle: ${JSON.stringify(await this.#states())}`);
      await this.#round();
      const call = this.#calls.shift();
      if (call !== undefined) answer(call);
      else if (await this.#allIdle()) break;
      else await this.#service.pass(500);
    }
  }

  async violations(): Promise<string[]> {
    for (const session of this.#sessions) await this.#check(session);
    return [...this.#found, ...repeatedEffects(this.#paid)];
  }

  async close(): Promise<void> {
    await this.#service.close();
  }

  async #start(): Promise<void> {
    const { directory, memoryBytes, maxRunning } = this.#options;
    this.#service = await startService({
      directory,
      clock: this.#clock,
      beforeCall: (method) =>
        this.#isFull && method === "claimTurns" ? Promise.reject(fullDisk()) : undefined,
      adjust: (config) => ({
        ...config,
        limits: { ...config.limits, memoryBytes, maxRunning, actionMs: ACTION_MS },
        apps: { default: paying(config.apps["default"]!, this.#paid) },
      }),
    });
    this.#calls = [];
  }

  async #chat(session: Followed, how: { readonly busy?: "steer" } = {}): Promise<void> {
    this.#count += 1;
    const text = `message ${this.#count}`;
    try {
      await this.#service.say(session.id, text, how);
      session.texts.push(text);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "queue_full") throw error;
    }
  }

  async #interrupt(session: Followed): Promise<void> {
    const snapshot = parse(await this.#service.conversations.interrupt(session.id, ANONYMOUS, null));
    if (snapshot.is_processing) this.#found.push("an interrupt answered that the session is processing");
    session.sealed = snapshot.messages;
  }

  async #edit(session: Followed, choice: number): Promise<void> {
    const text = `message ${(this.#count += 1)}`;
    this.#found.push(...(await editOne(this.#service, session, text, choice)));
  }

  /** The copy takes the place of another session, whose id and open stream it gets. */
  async #fork(session: Followed, copy: Followed, choice: number): Promise<void> {
    await this.#delete(copy);
    this.#found.push(...(await forkInto(this.#service, session, copy, choice)));
    await this.#round();
    // No event shows the copied messages: the open stream was sent to the snapshot.
    if (copy.reader.snapshot === null) await copy.reader.connect();
  }

  async #rename(session: Followed): Promise<void> {
    session.title = `title ${(this.#count += 1)}`;
    await this.#service.threads.rename(session.id, session.title, null);
  }

  async #delete(session: Followed): Promise<void> {
    await this.#service.threads.remove(session.id, null);
    Object.assign(session, { texts: [], sealed: [], title: null, isShaped: false });
    // The id starts a new incarnation at once; subscribers of the old one were notified.
    await this.#service.threads.create(session.id, null, ANONYMOUS, null);
    session.reader.drop();
    session.reader = new FoldingReader(this.#service, session.id);
    await session.reader.connect();
  }

  /** Turns are claimed again at once, or only after time has passed. */
  async #crash(isFull: boolean): Promise<void> {
    this.#crashes += 1;
    this.#isFull = isFull;
    for (const { reader } of this.#sessions) reader.drop();
    await this.#service.crash();
    await this.#start();
    for (const { reader } of this.#sessions) await reader.connect(this.#service);
  }

  async #pass(ms: number): Promise<void> {
    this.#isFull = false;
    await this.#service.pass(ms);
  }

  #speak(speech: Speech, choice: number): void {
    const call = this.#calls[choice % Math.max(1, this.#calls.length)];
    if (call === undefined || !speak(call, speech, choice)) return;
    this.#calls = this.#calls.filter((other) => other !== call);
  }

  /** Runs until nothing is pending: the store has answered, the model's calls are known. */
  async #round(): Promise<void> {
    for (let n = 0; n < 4; n += 1) await this.#service.pass(1);
    const added: ScriptedCall[] = [];
    while (this.#service.model.waitingCalls > 0) added.push(await this.#service.model.next());
    const isOpen = ({ options }: ScriptedCall): boolean => options.abortSignal?.aborted !== true;
    this.#calls = [...this.#calls, ...added].filter(isOpen);
    for (const call of added.filter(isOpen)) this.#found.push(...unknownInPrompt(call, this.#sessions));
  }

  async #allIdle(): Promise<boolean> {
    const snapshots = await Promise.all(this.#sessions.map(({ id }) => this.#service.snapshot(id)));
    return snapshots.every((snapshot) => !snapshot.is_processing);
  }

  async #states(): Promise<unknown[]> {
    const snapshots = await Promise.all(this.#sessions.map(({ id }) => this.#service.snapshot(id)));
    return snapshots.map(({ status, messages }) => [
      status,
      ...messages.map((message) => [message.status, message.content]),
    ]);
  }

  #checkOneTurnEach(): void {
    const working = this.#calls.map(questionOf);
    const bySession = working.map((text) => this.#sessions.findIndex(({ texts }) => texts.includes(text)));
    if (new Set(bySession).size < bySession.length)
      this.#found.push(`two turns of a session run: ${working.join()}`);
  }

  /** Asserts that a connected subscriber always shows the current snapshot. */
  async #checkFolds(): Promise<void> {
    for (const { id, reader } of this.#sessions) {
      if (reader.isConnected) this.#expect("the fold", reader.snapshot, await this.#service.snapshot(id));
    }
  }

  async #check(session: Followed): Promise<void> {
    const snapshot = await this.#service.snapshot(session.id);
    const users = snapshot.messages.filter(({ sender }) => sender === "user");
    this.#expect(
      "acknowledged messages",
      users.map(({ content }) => content),
      session.texts,
    );
    this.#checkAnswers(session, snapshot);
    this.#found.push(...changedIn(session, snapshot));
    for (const message of snapshot.messages) {
      const calls = (message.tool_calls ?? []).map(({ id }) => id);
      const results = (message.tool_results ?? []).map(({ call_id }) => call_id);
      this.#expect("results of calls", results.toSorted(), calls.toSorted());
    }
    this.#expect("what is asked in the end", snapshot.pending_actions, []);
    if (session.title !== null) this.#expect("title", snapshot.title, session.title);
    await this.#checkReader(session, snapshot);
    await this.#checkEvicted(session.id);
  }

  /**
   * Asserts that every message has one answer, except sealed ones and those whose turn crashed three times.
   */
  #checkAnswers({ sealed, isShaped }: Followed, { messages, system_events: systemEvents }: Snapshot): void {
    const answered = messages.filter(({ status }) => status === "complete").map(({ content }) => content);
    const isSealed = ({ id }: Message): boolean => sealed.some((message) => message.id === id);
    const unanswered: string[] = [];
    for (const user of messages.filter(({ sender }) => sender === "user")) {
      const answers = answered.filter((answer) => answer.endsWith(`answer to ${user.content}`)).length;
      if (answers > 1) this.#found.push(`${user.content} has ${answers} answers`);
      if (answers === 0 && !isSealed(user) && !isSteered(user, messages)) unanswered.push(user.content);
    }
    const failed = messages.filter(({ status }) => status === "failed");
    const told = systemEvents.filter(({ payload }) => payload["code"] === "turn_crashed").length;
    const isExplained = unanswered.length === failed.filter((message) => !isSealed(message)).length;
    const isTold = isShaped ? told <= failed.length : told === failed.length;
    if (!isExplained || !isTold || failed.length > this.#crashes / MAX_ATTEMPTS) {
      const turns = `${failed.length} failed turns, of which ${told} were told, after ${this.#crashes} crashes`;
      this.#found.push(`no answer to ${unanswered.join()} with ${turns}`);
    }
  }

  async #checkReader({ reader }: Followed, snapshot: Snapshot): Promise<void> {
    await until(() => reader.snapshot?.last_event_id === snapshot.last_event_id);
    this.#expect("the fold", reader.snapshot, snapshot);
    this.#expect("faults of the stream", reader.faults, []);
  }

  /** Asserts that an evicted session answers byte for byte the same after reloading. */
  async #checkEvicted(id: string): Promise<void> {
    const request = {
      sessionId: id,
      access: ANONYMOUS,
      userState: null,
      waitMs: 0,
      signal: new AbortController().signal,
    };
    const before = await this.#service.conversations.state(request, null);
    await this.#service.evict();
    const after = await this.#service.conversations.state(request, null);
    this.#expect(
      "an evicted session",
      Buffer.concat(after.parts).toString(),
      Buffer.concat(before.parts).toString(),
    );
    this.#expect("its entity tag", after.etag, before.etag);
  }

  #expect(what: string, seen: unknown, expected: unknown): void {
    const [left, right] = [JSON.stringify(seen), JSON.stringify(expected)];
    if (left !== right) this.#found.push(`${what}: ${left} instead of ${right}`);
  }
}
