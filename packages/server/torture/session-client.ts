// Requests of one session. Records in the ledger everything that responses promise, and checks every
// snapshot. Requests are repeated until answered, except for a share of the messages, which are sent once and
// without a key.

import type { Message, Snapshot } from "@colloquy/protocol";
import { checkAttached, checkFile, newFile, type SentFile } from "./attached-files.ts";
import { requestOf } from "./approval-ledger.ts";
import { newDecision, sendDecision } from "./approvers.ts";
import { runCall } from "./client-tools.ts";
import type { Answer, RequestOptions } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";
import { IncarnationLedger, nextMoment, type SentMessage } from "./ledger.ts";
import { count, PATIENCE_MS, type MessageCounts } from "./message-counts.ts";
import type { Office } from "./office.ts";
import { OFFICE_TOOLS, isOfficeTool, requestIn, type OfficeUser } from "./office-rules.ts";
import { readOnlyAnswer } from "./only-answer.ts";
import { checkCopy, checkSnapshot } from "./oracles.ts";
import type { Done } from "./report.ts";
import { SessionRequests, type Persisted, type RequestContext, type Tried } from "./session-requests.ts";
import { StreamFollower, type FollowerContext } from "./stream-follower.ts";
import type { ViolationKind } from "./violations.ts";

/** Share of messages sent once without a key, so that nothing hides duplicates or wrong answers. */
const SENT_ONCE = 0.4;
/** Share of the other messages that have a file. */
const WITH_FILE = 0.15;
/** Share of the looks at a request to approvers after which its user decides it, if the user may. */
const DECIDES_OWN = 0.3;

export interface LoadContext extends FollowerContext, RequestContext {
  readonly messages: MessageCounts;
  readonly done: Done;
  /** The App whose calls need approvers; `null` for none. */
  readonly office: Office | null;
  /** Time of the last fault, in milliseconds on the monotonic clock, from which lack of progress counts. */
  readonly disturbedAt: () => number;
  /** Milliseconds without any change after which a processing session counts as stuck. */
  readonly stuckMs: number;
  /** True to request answers long enough to meet a fault. */
  readonly hasLongAnswers: boolean;
}

/** The message that an edit replaces, and all messages that were shown before the edit. */
interface Replaced {
  readonly id: string;
  readonly shown: readonly Message[];
}

export interface MessageRecord {
  readonly role: string;
  readonly content: string;
  readonly id: string;
}

export class SessionClient {
  readonly id: string;
  /** Its user, in a session of the office. */
  readonly user: OfficeUser | null;
  readonly #context: LoadContext;
  readonly #random: Random;
  readonly #requests: SessionRequests;
  #ledger: IncarnationLedger;
  readonly #follower: StreamFollower;
  /** Parts of the session that late requests may still change. */
  readonly #unsettled = new Set<"messages" | "title" | "user_state" | "incarnation">();

  /** For a new session, or for one that a fork has made, with what is known about it. */
  constructor(
    context: LoadContext,
    random: Random,
    user: OfficeUser | null = null,
    id = random.uuid(),
    ledger = new IncarnationLedger(new Set()),
  ) {
    this.id = id;
    this.user = user;
    this.#ledger = ledger;
    this.#context = context;
    this.#random = random;
    const authorization = user?.authorization ?? null;
    const headers = { "x-session-id": this.id, ...(authorization !== null && { authorization }) };
    this.#requests = new SessionRequests(context, headers, random);
    this.#follower = new StreamFollower(context, this.id, authorization);
  }

  get ledger(): IncarnationLedger {
    return this.#ledger;
  }

  get follower(): StreamFollower {
    return this.#follower;
  }

  get context(): LoadContext {
    return this.#context;
  }

  /** True if an unanswered delete may still take effect, so that nothing is certain about this session. */
  get isUncertain(): boolean {
    return this.#unsettled.has("incarnation");
  }

  /** Number of messages without a response, which may be stored or still arrive. */
  get doubts(): number {
    return this.#ledger.doubts;
  }

  async chat(text: string): Promise<void> {
    if (this.#random.chance(SENT_ONCE)) await this.#chatOnce(text);
    else await this.#chatUntilAnswered(text);
  }

  /** Replaces one of the last three messages, and everything after it. */
  async edit(text: string): Promise<void> {
    const { messages } = await this.state();
    const users = messages.filter(({ sender }) => sender === "user").slice(-3);
    const replaced = users[this.#random.integer(0, 2) % Math.max(1, users.length)];
    if (replaced === undefined) return await this.chat(text);
    this.#follower.expectRemoval();
    this.#context.office?.ledger.mayRemove(this.id);
    await this.#chatUntilAnswered(text, { id: replaced.id, shown: messages });
    this.#context.done.edits += 1;
  }

  /** Repeats a chat until it gets a response. Some requests also wait for the assistant's answer. */
  async #chatUntilAnswered(text: string, replaced: Replaced | null = null): Promise<void> {
    const { messages } = this.#context;
    const file = this.#random.chance(WITH_FILE) ? await this.#upload() : null;
    const message = this.#send(text);
    messages.sent += 1;
    const headers = {
      "idempotency-key": this.#random.uuid(),
      ...(this.#random.chance(0.1) && { prefer: "wait=1" }),
    };
    const begun = performance.now();
    const { answer, asked, isLate, first } = await this.#persist(this.#chatPath(text, replaced), {
      method: "POST",
      headers,
      ...(file !== null && { body: JSON.stringify({ attachments: [file.id] }) }),
    });
    if (isLate) this.#unsettled.add("messages");
    this.#countFirst(first);
    if (answer.status !== 429) count(messages.withKey, performance.now() - begun <= PATIENCE_MS);
    if (answer.status === 200) {
      if (replaced !== null) this.#ledger.remove(replaced.shown, replaced.id);
      const snapshot = this.#acknowledge(message, answer, asked);
      if (replaced !== null) this.#follower.noteRemoval(snapshot.last_event_id);
      const sent = snapshot.messages.find(({ content }) => content === text);
      if (file !== null && sent !== undefined)
        checkAttached(file, sent, (detail) => this.#report("lost", text, detail));
    } else if (answer.status === 429 && replaced === null) {
      message.refused = !isLate;
      messages.refused += 1;
    } else {
      this.#unexpected("chat", answer);
    }
  }

  /** Uploads a file. Returns `null` if too many uploads are under way. */
  async #upload(): Promise<SentFile | null> {
    const file = newFile(this.#random);
    const name = encodeURIComponent(file.name);
    const { answer } = await this.#persist(`/api/files?name=${name}${this.#appQuery}`, {
      method: "POST",
      body: file.text,
    });
    if (answer.status === 200) return { ...file, id: (JSON.parse(answer.body) as { id: string }).id };
    if (answer.status !== 429) this.#unexpected("upload", answer);
    return null;
  }

  /** Downloads every file of the messages, and checks its bytes. */
  async checkFiles(messages: readonly Message[]): Promise<void> {
    for (const file of messages.flatMap(({ attachments }) => attachments ?? [])) {
      const { answer } = await this.#persist(`/api/files/${file.id}`, {});
      checkFile(file, answer, (detail) => this.#report("lost", file.id, detail));
      this.#context.done.files += 1;
    }
  }

  /**
   * Sends a chat once. The only response must be true: stored once, not stored, or, if unknown, stored at
   * most once.
   */
  async #chatOnce(text: string): Promise<void> {
    const { isCarriedOutLate, messages } = this.#context;
    const message = this.#send(text);
    messages.sent += 1;
    messages.sentOnce += 1;
    const tried = await this.#requests.once(this.#chatPath(text), { method: "POST" });
    const { answer } = tried;
    this.#countFirst(tried);
    const meaning = readOnlyAnswer(answer);
    if (meaning === "shown" && answer !== null) {
      this.#acknowledge(message, answer, message.sent);
    } else if (meaning === "stored") {
      message.acknowledged = this.#ledger.now();
      messages.acknowledged += 1;
    } else if (meaning === "unknown") {
      messages.inDoubt += 1;
      if (isCarriedOutLate) this.#unsettled.add("messages");
    } else if (meaning === "wrong" && answer !== null) {
      this.#unexpected("chat", answer);
    } else {
      message.refused = true;
      messages[meaning === "unchanged" ? "unchanged" : "refused"] += 1;
    }
  }

  #send(text: string): SentMessage {
    const request = requestIn(text);
    if (request !== null && this.user !== null)
      this.#context.office?.ledger.ask(request, this.id, this.user.name);
    return this.#ledger.send(text);
  }

  #countFirst({ answer, metWhole }: Tried): void {
    if (answer?.status === 429) return;
    const { firstTries, firstTriesAtWhole } = this.#context.messages;
    count(firstTries, answer?.status === 200);
    if (metWhole) count(firstTriesAtWhole, answer?.status === 200);
  }

  #acknowledge(message: SentMessage, answer: Answer, asked: number): Snapshot {
    message.acknowledged = this.#ledger.now();
    this.#context.messages.acknowledged += 1;
    const snapshot = this.#readSnapshot(answer, asked);
    if (!snapshot.messages.some(({ content }) => content === message.text)) {
      this.#report("lost", message.text, "is not in the answer that acknowledged it");
    }
    return snapshot;
  }

  async state(): Promise<Snapshot> {
    const { answer, asked } = await this.#persist("/api/state", {});
    if (answer.status !== 200) this.#unexpected("state", answer);
    return this.#readSnapshot(answer, asked);
  }

  /**
   * Interrupts the session and checks the snapshot in the response, whose messages must not change any more.
   */
  async interrupt(): Promise<void> {
    this.#context.office?.ledger.mayStop(this.id);
    const { answer, asked } = await this.#persist("/api/interrupt", { method: "POST" });
    if (answer.status !== 200) return this.#unexpected("interrupt", answer);
    const snapshot = this.#readSnapshot(answer, asked);
    this.#context.done.interrupts += 1;
    // A message of unknown outcome may arrive right after the interrupt.
    if (snapshot.is_processing && !this.#unsettled.has("messages")) {
      this.#report("wrong answer", "interrupt", "answered with is_processing true");
    }
  }

  /** Runs the calls that wait for a client. `isDiligent`: no claim is lost on purpose. */
  async runCalls({ pending_actions: pending }: Snapshot, isDiligent = false): Promise<void> {
    const user = {
      random: this.#random,
      calls: this.#ledger.calls,
      done: this.#context.done,
      isDiligent,
      post: async (path: string, body: object, headers = {}) =>
        (await this.#persist(path, { method: "POST", headers, body: JSON.stringify(body) })).answer,
      now: () => this.#ledger.now(),
      report: (kind: ViolationKind, about: string, detail: string) => this.#report(kind, about, detail),
    };
    for (const action of pending) if (action.kind === "client_tool") await runCall(action, user);
    for (const action of pending) if (action.kind === "approval") await this.#decideOwn(action);
  }

  /** Decides a request of the session's user, if the user may. */
  async #decideOwn({
    id: action,
    tool,
    request: { input },
  }: Extract<Snapshot["pending_actions"][number], { kind: "approval" }>): Promise<void> {
    const { office } = this.#context;
    if (office === null || !isOfficeTool(tool) || OFFICE_TOOLS[tool].owner !== "may") return;
    if (!this.#random.chance(DECIDES_OWN)) return;
    const decision = newDecision(this.#random, null);
    await sendDecision({ request: requestOf(input), action }, decision, office.ledger, (path, body) =>
      this.#persist(path, { method: "POST", body: JSON.stringify(body) }),
    );
  }

  /** Copies the session's finished turns. Returns the client of the copy. */
  async fork(): Promise<SessionClient> {
    const before = await this.state();
    const id = this.#random.uuid();
    const { answer, attempts } = await this.#persist(`/api/sessions/${this.id}/fork`, {
      method: "POST",
      body: JSON.stringify({ session_id: id }),
    });
    // An attempt without an answer may have made the copy.
    if (answer.status !== 200 && (answer.status !== 409 || attempts === 1)) this.#unexpected("fork", answer);
    const shown = await this.#requests.persist(
      "/api/state",
      { headers: { "x-session-id": id } },
      () => 0,
      (wrong) => this.#unexpected("state of a copy", wrong),
    );
    const copy = JSON.parse(shown.answer.body) as Snapshot;
    checkCopy(this.#ledger, before, copy, this.#context.violations);
    this.#context.done.forks += 1;
    return new SessionClient(
      this.#context,
      this.#random,
      this.user,
      id,
      IncarnationLedger.ofCopy(copy.messages, this.#ledger),
    );
  }

  async rename(title: string): Promise<void> {
    // Renaming needs a session, and after a delete there is none until it is read.
    if (this.#ledger.incarnation === null) await this.state();
    this.#ledger.settings.set("title", { value: undefined, since: 0 });
    const { answer, isLate } = await this.#persist(`/api/sessions/${this.id}`, {
      method: "PATCH",
      body: JSON.stringify({ title, metadata: { title } }),
    });
    if (isLate) this.#unsettled.add("title");
    if (answer.status === 200) this.#settle("title", title);
    else this.#unexpected("rename", answer);
  }

  async setUserState(counter: number): Promise<void> {
    this.#ledger.settings.set("user_state", { value: undefined, since: 0 });
    const patch = encodeURIComponent(JSON.stringify({ counter }));
    const { answer, isLate } = await this.#persist(`/api/state?user_state=${patch}`, {});
    if (isLate) this.#unsettled.add("user_state");
    if (answer.status === 200) this.#settle("user_state", { counter });
    else this.#unexpected("state", answer);
  }

  /** Deletes the session; a new incarnation follows, unless an old message may still arrive. */
  async remove(): Promise<void> {
    if (this.#unsettled.has("messages")) return;
    if (this.#ledger.incarnation === null) await this.state();
    this.#context.office?.ledger.mayRemove(this.id);
    const { answer, attempts, isLate } = await this.#persist(`/api/sessions/${this.id}`, {
      method: "DELETE",
    });
    if (isLate) this.#unsettled.add("incarnation");
    if (answer.status === 200 || (answer.status === 404 && attempts > 1)) this.#ledger = this.#ledger.next();
    else return this.#unexpected("delete", answer);
    // Polls do not create it again.
    const { answer: begun } = await this.#persist("/api/sessions", { method: "POST" });
    if (begun.status !== 200) this.#unexpected("create", begun);
  }

  /** Returns all stored messages of the session, oldest first. */
  async records(): Promise<readonly MessageRecord[]> {
    const all: MessageRecord[] = [];
    for (;;) {
      const after = all.at(-1)?.id;
      const cursor = after === undefined ? "" : `&after=${after}`;
      const { answer } = await this.#persist(`/api/sessions/${this.id}/messages?limit=100${cursor}`, {});
      if (answer.status !== 200) this.#unexpected("messages", answer);
      const page = answer.status === 200 ? (JSON.parse(answer.body) as typeof all) : [];
      all.push(...page);
      if (page.length < 100) return all;
    }
  }

  /** Names the App of the session, which a message or a file may begin. */
  get #appQuery(): string {
    return this.user === null ? "" : "&app=office";
  }

  /** Some chats steer or wait, whatever the App says. */
  #chatPath(text: string, replaced: Replaced | null = null): string {
    const replaces = replaced === null ? "" : `&replaces=${replaced.id}`;
    const busy = this.#random.chance(0.3) ? "&busy=steer" : this.#random.chance(0.1) ? "&busy=enqueue" : "";
    return `/api/chat?message=${encodeURIComponent(text)}${this.#appQuery}${replaces}${busy}`;
  }

  async #persist(path: string, options: RequestOptions): Promise<Persisted> {
    const moment = (): number => this.#ledger.now();
    return await this.#requests.persist(path, options, moment, (answer) => this.#unexpected(path, answer));
  }

  #readSnapshot(answer: Answer, asked: number): Snapshot {
    const snapshot = JSON.parse(answer.body) as Snapshot;
    if (answer.status === 200) {
      checkSnapshot(this.#ledger, snapshot, asked, this.#context.violations);
      this.#context.office?.ledger.checkSnapshot(snapshot, asked, nextMoment());
      this.#follower.offer(snapshot);
    }
    return snapshot;
  }

  #settle(name: "title" | "user_state", value: unknown): void {
    if (this.#unsettled.has(name)) return;
    this.#ledger.settings.set(name, { value, since: this.#ledger.now() });
  }

  #unexpected(what: string, answer: Answer): void {
    this.#report("wrong answer", `${what} ${answer.status}`, answer.body.slice(0, 300));
  }

  #report(kind: ViolationKind, about: string, detail: string): void {
    this.#context.violations.add(kind, this.id, about, detail);
  }
}
