// One run of the interleavings test on several nodes: performs each command on its node and tracks what was
// acknowledged. What one node has acknowledged, every other must know.

import type { Snapshot } from "@colloquy/protocol";
import type { SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import { ServiceError, SessionDeleted } from "@colloquy/engine/internal/core/errors";
import { LEASE_MS } from "@colloquy/engine/internal/core/turn";
import { EpochWatch } from "./epoch-watch.ts";
import { FoldingReader } from "./folding-reader.ts";
import { ACTION_MS } from "./interleaving.ts";
import { startNodes, type Nodes } from "./nodes.ts";
import type { PostgresDatabases } from "./postgres-server.ts";
import { answer, repeatedEffects, paying, speak, type Speech } from "./scripted-answers.ts";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { newId, parse, until, type TestService } from "./service.ts";
import {
  decideOne,
  editOne,
  forkInto,
  unknownIn,
  unknownInPrompt,
  withoutText,
  violationsIn,
} from "./shaped-sessions.ts";
import type { AcknowledgedSession } from "./shaped-sessions.ts";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";

export const NODE_COMMANDS = [
  "chat",
  "chat",
  "steer",
  "steer",
  "say",
  "say",
  "say",
  "finish",
  "finish",
  "write late",
  "call a tool",
  "ask a person",
  "approve",
  "interrupt",
  "edit",
  "edit",
  "fork",
  "rename",
  "delete",
  "crash or come back",
  "drop a reader",
  "reconnect",
  "let time pass",
] as const;

export interface NodeCommand {
  readonly name: (typeof NODE_COMMANDS)[number];
  readonly session: number;
  readonly node: number;
  readonly choice: number;
}

export interface NodesRun {
  readonly hasBus: boolean;
  readonly memoryBytes: number;
  readonly maxRunning: number;
}

interface Followed extends AcknowledgedSession {
  reader: FoldingReader;
}

type Called = { readonly node: TestService; readonly call: ScriptedCall };
type Kind = SessionCommand["kind"] | "turns.checkpoint";
type Held = { readonly kinds: readonly Kind[]; readonly until: Promise<void> };

const NODES = 3;
/** Writes of running turns: results of calls, and others. */
const RESULTS: readonly Kind[] = ["toolResult"];
const OTHERS: readonly Kind[] = [
  "turns.checkpoint",
  "beginStep",
  "stepWithCalls",
  "wait",
  "startCalls",
  "complete",
  "fail",
];
const SESSIONS = 2;

export class NodesInterleaving {
  readonly #cluster: Nodes;
  /** Gates for writes of a node's running turns. */
  readonly #held: Map<number, Held>;
  readonly #watch: EpochWatch;
  /** Calls whose effect happened, on any node. */
  readonly #paid: readonly string[];
  readonly #dead = new Set<number>();
  readonly #sessions: Followed[] = [];
  readonly #found: string[] = [];
  /** Model calls waiting for the script, with their node. */
  #calls: Called[] = [];
  #count = 0;
  #crashes = 0;

  private constructor(cluster: Nodes, held: Map<number, Held>, watch: EpochWatch, paid: string[]) {
    this.#cluster = cluster;
    this.#held = held;
    this.#watch = watch;
    this.#paid = paid;
  }

  static async start(server: PostgresDatabases, run: NodesRun): Promise<NodesInterleaving> {
    const { hasBus, memoryBytes, maxRunning } = run;
    const held = new Map<number, Held>();
    const watch = new EpochWatch();
    const paid: string[] = [];
    const cluster = await startNodes(server, {
      count: NODES,
      beforeCallOf: (place) => (method) => {
        const { kinds = [], until } = held.get(place) ?? {};
        return method === "turns.renew" || kinds.some((kind) => kind === method) ? until : undefined;
      },
      watch: (store) => watch.watch(store),
      hasBus,
      adjust: (config) => ({
        ...config,
        limits: { ...config.limits, memoryBytes, maxRunning, actionMs: ACTION_MS },
        apps: { default: paying(config.apps["default"]!, paid) },
      }),
    });
    const interleaving = new NodesInterleaving(cluster, held, watch, paid);
    for (let n = 0; n < SESSIONS; n += 1) {
      const id = newId();
      const reader = new FoldingReader(cluster.nodes[n]!, id);
      await reader.connect();
      interleaving.#sessions.push({ id, texts: [], sealed: [], title: null, isShaped: false, reader });
    }
    return interleaving;
  }

  async run({ name, session: index, node: place, choice }: NodeCommand): Promise<void> {
    const session = this.#sessions[index]!;
    const node = this.#node(place);
    await this.#round();
    if (name === "chat") await this.#chat(session, node);
    else if (name === "steer") await this.#chat(session, node, { busy: "steer" });
    else if (name === "interrupt") await this.#interrupt(session, node);
    else if (session.texts.length === 0 && (name === "edit" || name === "fork"))
      await this.#chat(session, node);
    else if (name === "edit") await this.#edit(session, node, choice);
    else if (name === "fork") await this.#fork(session, this.#sessions[1 - index]!, node, choice);
    else if (name === "rename") await this.#rename(session, node);
    else if (name === "delete") await this.#delete(session, node);
    else if (name === "approve") this.#found.push(...(await decideOne(node, session.id, name, choice)));
    else if (name === "crash or come back") await this.#crashOrComeBack(place);
    else if (name === "write late") await this.#writeLate(choice);
    else if (name === "drop a reader") session.reader.drop();
    else if (name === "reconnect") await session.reader.connect(node);
    else if (name === "let time pass") await this.#cluster.pass(1 + choice * 2_500);
    else this.#speak(name, choice);
    for (const one of this.#sessions) await this.#agree(one);
    await this.#round();
    for (const one of this.#sessions) await this.#agree(one);
  }

  /** Completes all turns. */
  async finish(): Promise<void> {
    for (const place of this.#dead) await this.#cluster.comeBack(place);
    this.#dead.clear();
    for (const { reader } of this.#sessions) if (!reader.isConnected) await reader.connect(this.#node(0));
    for (let round = 0; ; round += 1) {
      if (round > 200)
        throw new Error(`Sessions did not become idle: ${JSON.stringify(await this.#states())}`);
      await this.#round();
      const next = this.#calls.shift();
      if (next !== undefined) answer(next.call);
      else if (await this.#allIdle()) return;
      else await this.#cluster.pass(1_000);
    }
  }

  async violations(): Promise<readonly string[]> {
    for (const session of this.#sessions) await this.#check(session);
    return [...this.#found, ...this.#watch.found, ...repeatedEffects(this.#paid)];
  }

  async close(): Promise<void> {
    for (const { reader } of this.#sessions) reader.drop();
    await this.#cluster.close();
  }

  /** Returns the node at this index, or the next one that is running. */
  #node(place: number): TestService {
    const alive = this.#alive();
    return this.#dead.has(place) ? alive[place % alive.length]! : this.#cluster.nodes[place]!;
  }

  #alive(): TestService[] {
    return this.#cluster.nodes.filter((_node, place) => !this.#dead.has(place));
  }

  async #chat(session: Followed, node: TestService, how: { readonly busy?: "steer" } = {}): Promise<void> {
    this.#count += 1;
    const text = `message ${this.#count}`;
    try {
      const { messages } = await node.say(session.id, text, how);
      session.texts.push(text);
      if (!messages.some(({ content }) => content === text)) this.#found.push(`${text} is not in its answer`);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "queue_full") throw error;
    }
  }

  async #interrupt(session: Followed, node: TestService): Promise<void> {
    const snapshot = parse(await node.conversations.interrupt(session.id, ANONYMOUS, null));
    if (snapshot.is_processing) this.#found.push("an interrupt answered that the session is processing");
    session.sealed = snapshot.messages;
  }

  async #edit(session: Followed, node: TestService, choice: number): Promise<void> {
    this.#count += 1;
    this.#found.push(...(await editOne(node, session, `message ${this.#count}`, choice)));
  }

  /** The copy takes the place of another session, whose id it gets. */
  async #fork(session: Followed, copy: Followed, node: TestService, choice: number): Promise<void> {
    await this.#delete(copy, node);
    this.#found.push(...(await forkInto(node, session, copy, choice)));
    await copy.reader.connect();
  }

  async #rename(session: Followed, node: TestService): Promise<void> {
    session.title = `title ${(this.#count += 1)}`;
    await node.threads.rename(session.id, session.title, null);
  }

  /** The id starts a new incarnation at once, on another node; subscribers of the old one are notified. */
  async #delete(session: Followed, node: TestService): Promise<void> {
    await node.threads.remove(session.id, null);
    Object.assign(session, { texts: [], sealed: [], title: null, isShaped: false });
    const other = this.#node(this.#count % NODES);
    const refusal = await other.snapshot(session.id).catch((error: unknown) => error);
    this.#expect("a poll after a delete", refusal instanceof SessionDeleted, true);
    await other.threads.create(session.id, null, ANONYMOUS, null);
    const { messages } = await this.#node((this.#count + 1) % NODES).snapshot(session.id);
    this.#expect("messages of a new incarnation", messages, []);
    session.reader.drop();
    session.reader = new FoldingReader(node, session.id);
    await session.reader.connect();
  }

  async #crashOrComeBack(place: number): Promise<void> {
    if (this.#dead.delete(place)) return await this.#cluster.comeBack(place);
    if (this.#dead.size === NODES - 1) return;
    const node = this.#cluster.nodes[place]!;
    this.#crashes += 1;
    this.#dead.add(place);
    for (const { reader } of this.#sessions) reader.drop();
    await node.crash();
    this.#calls = this.#calls.filter((one) => one.node !== node);
    for (const { reader } of this.#sessions) await reader.connect(this.#node(place));
  }

  #speak(speech: Speech, choice: number): void {
    const one = this.#calls[choice % Math.max(1, this.#calls.length)];
    if (one === undefined || !speak(one.call, speech, choice)) return;
    this.#calls = this.#calls.filter((other) => other !== one);
  }

  /** Holds back writes of a node's turns until their leases have expired and others own them: all, or results of calls. */
  async #writeLate(choice: number): Promise<void> {
    const one = this.#calls[choice % Math.max(1, this.#calls.length)];
    if (one === undefined) return;
    const place = this.#cluster.nodes.indexOf(one.node);
    const gate = Promise.withResolvers<void>();
    const isPaid = choice % 2 === 1;
    this.#held.set(place, { kinds: isPaid ? RESULTS : [...RESULTS, ...OTHERS], until: gate.promise });
    this.#crashes += this.#calls.filter(({ node }) => node === one.node).length;
    this.#calls = this.#calls.filter((other) => other !== one);
    if (isPaid) speak(one.call, "call a tool", 0);
    else answer(one.call);
    await this.#cluster.pass(LEASE_MS + 2_000);
    this.#held.delete(place);
    gate.resolve();
    await this.#round();
  }

  /** Lets pending work continue: the stores have answered, the model's calls are known. */
  async #round(): Promise<void> {
    for (let n = 0; n < 3; n += 1) await this.#cluster.pass(1);
    const added: Called[] = [];
    for (const node of this.#alive()) {
      while (node.model.waitingCalls > 0) added.push({ node, call: await node.model.next() });
    }
    const isOpen = ({ call }: Called): boolean => call.options.abortSignal?.aborted !== true;
    this.#calls = [...this.#calls, ...added].filter(isOpen);
    for (const { call } of added.filter(isOpen)) this.#found.push(...unknownInPrompt(call, this.#sessions));
  }

  /**
   * Asserts that nodes agree: consecutive reads never go back, and concurrent ones are equal except for
   * streaming text. All contain what was acknowledged.
   */
  async #agree(session: Followed): Promise<void> {
    const { id, texts, title } = session;
    const nodes = this.#alive();
    let before: Snapshot | null = null;
    for (const node of [...nodes, nodes[0]!]) {
      const snapshot = await node.snapshot(id);
      const users = snapshot.messages.filter(({ sender }) => sender === "user");
      this.#expect(
        "messages on a node",
        users.map(({ content }) => content),
        texts,
      );
      this.#found.push(...unknownIn("a node", { ...snapshot, title: null }, session));
      if (title !== null) this.#expect("the title on a node", snapshot.title, title);
      if (before !== null) {
        if (numberOf(snapshot) < numberOf(before))
          this.#found.push("a node is behind what another one answered");
        if (numberOf(snapshot) === numberOf(before))
          this.#expect("a snapshot on another node", withoutText(snapshot), withoutText(before));
      }
      before = snapshot;
    }
  }

  async #allIdle(): Promise<boolean> {
    const snapshots = await Promise.all(this.#sessions.map(({ id }) => this.#node(0).snapshot(id)));
    return snapshots.every(({ is_processing: isProcessing }) => !isProcessing);
  }

  async #states(): Promise<unknown[]> {
    const snapshots = await Promise.all(this.#sessions.map(({ id }) => this.#node(0).snapshot(id)));
    return snapshots.map(({ messages }) => messages.map(({ status, content }) => [status, content]));
  }

  async #check(session: Followed): Promise<void> {
    // Titles arrive at any time.
    await this.#round();
    await this.#agree(session);
    const snapshot = await this.#node(0).snapshot(session.id);
    this.#found.push(...(await violationsIn(this.#node(1), session, this.#crashes)));
    const { reader } = session;
    for (let n = 0; n < 5 && reader.snapshot?.last_event_id !== snapshot.last_event_id; n += 1) {
      if (session.isShaped && reader.snapshot === null) await reader.connect();
      await this.#cluster.pass(1_000);
    }
    await until(() => reader.snapshot?.last_event_id === snapshot.last_event_id);
    this.#expect("the fold", reader.snapshot, snapshot);
    this.#expect("faults of the stream", reader.faults, []);
  }

  #expect(what: string, seen: unknown, expected: unknown): void {
    const [left, right] = [JSON.stringify(seen), JSON.stringify(expected)];
    if (left !== right) this.#found.push(`${what}: ${left} instead of ${right}`);
  }
}

function numberOf(snapshot: Snapshot): number {
  return Number(snapshot.last_event_id.split("-")[1]);
}
