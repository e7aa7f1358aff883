// Engines with backends and transports of plugins.

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { z } from "zod";
import { openDocumentStore } from "../backend.ts";
import {
  createEngine,
  defineBackend,
  defineTransport,
  type Packet,
  type Transport,
  type TransportReceiver,
} from "../index.ts";

/** A backend that stores documents in a Map. Several engines share it if `nodes` is given. */
function mapBackend(documents: Map<string, unknown>, more: object = {}) {
  const closed: string[] = [];
  const plugin = defineBackend({
    name: "map",
    version: "1.0.0",
    settings: z.strictObject({ label: z.string() }),
    async open({ label }, { clock }) {
      const save = (changes: ReadonlyMap<string, unknown>): Promise<void> => {
        for (const [name, document] of changes)
          if (document === null) documents.delete(name);
          else documents.set(name, structuredClone(document));
        return Promise.resolve();
      };
      const close = (): void => void closed.push(label);
      return await openDocumentStore({ storage: { load: () => documents, save, close }, clock });
    },
    ...more,
  });
  return { plugin, closed };
}

/** A transport within this process. */
class Local implements Transport {
  static readonly all = new Set<TransportReceiver>();
  readonly maxBytes = 1_000_000;
  readonly isReady = true;
  #receiver: TransportReceiver | null = null;
  start(receiver: TransportReceiver): void {
    this.#receiver = receiver;
    Local.all.add(receiver);
    receiver.onResumed();
  }
  ready = () => Promise.resolve(true);
  check = () => Promise.resolve();
  send(packets: readonly Packet[]): Promise<void> {
    for (const { text } of packets) for (const receiver of Local.all) receiver.onText(text);
    return Promise.resolve();
  }
  follow = () => Promise.resolve();
  unfollow(): void {}
  close(): Promise<void> {
    if (this.#receiver !== null) Local.all.delete(this.#receiver);
    return Promise.resolve();
  }
}

const backend = { kind: "map", label: "one" } as const;

it("stores conversations in a plugin's backend, and continues them after a restart", async () => {
  const documents = new Map<string, unknown>();
  const { plugin, closed } = mapBackend(documents);
  const session = randomUUID();
  const first = await createEngine({ plugins: [plugin], backend });
  await first.conversations.chat({ session, message: "hello", wait: 20_000 });
  await first.close();
  expect(closed).toEqual(["one"]);
  const second = await createEngine({ plugins: [plugin], backend });
  const { messages } = await second.conversations.chat({ session, message: "again", wait: 20_000 });
  expect(messages.filter(({ sender }) => sender === "user").map(({ content }) => content)).toEqual([
    "hello",
    "again",
  ]);
  await second.close();
});

it("notifies the other engine of a shared backend over a plugin's transport", async () => {
  const sent: string[] = [];
  const local = defineTransport({
    name: "local",
    version: "1.0.0",
    open: (_settings, { cluster }) => {
      sent.push(cluster);
      return new Local();
    },
  });
  const { plugin } = mapBackend(new Map(), { nodes: { identity: () => Promise.resolve("cluster_1") } });
  const environment = { COLLOQUY_SECRET_KEY: "0f1e".repeat(16) };
  const options = { plugins: [plugin, local], backend, transport: { kind: "local" }, environment } as const;
  const engine = await createEngine(options);
  expect(sent).toEqual(["cluster_1"]);
  const received: string[] = [];
  Local.all.add({ onText: (text) => void received.push(text), onResumed() {} });
  await engine.conversations.chat({ session: randomUUID(), message: "hello", wait: 20_000 });
  await engine.close();
  Local.all.clear();
  expect(received.join()).toContain('"kind":"events"');
});

it("closes the store if the transport cannot be opened", async () => {
  const nodes = {
    identity: () => Promise.resolve("x"),
    transport: () => Promise.reject(new Error("The transport is down.")),
  };
  const { plugin, closed } = mapBackend(new Map(), { nodes });
  await expect(createEngine({ plugins: [plugin], backend })).rejects.toThrow("The transport is down.");
  expect(closed).toEqual(["one"]);
});

it("closes the store if the master key is invalid", async () => {
  const { plugin, closed } = mapBackend(new Map());
  const environment = { COLLOQUY_SECRET_KEY: "short" };
  await expect(createEngine({ plugins: [plugin], backend, environment })).rejects.toThrow(
    "COLLOQUY_SECRET_KEY must",
  );
  expect(closed).toEqual(["one"]);
});

it("closes the store if it fails at the start", async () => {
  const { plugin, closed } = mapBackend(new Map());
  const open: typeof plugin.open = async (...given) => {
    const store = await plugin.open(...given);
    const releaseDeadLeases = () => Promise.reject(new Error("The disk is gone."));
    return { ...store, turns: { ...store.turns, releaseDeadLeases } };
  };
  await expect(createEngine({ plugins: [{ ...plugin, open }], backend })).rejects.toThrow(
    "The disk is gone.",
  );
  expect(closed).toEqual(["one"]);
});

it("rejects settings that the plugin's schema rejects", async () => {
  const { plugin } = mapBackend(new Map());
  const options = { plugins: [plugin], backend: { kind: "map", lable: "one" } } as never;
  await expect(createEngine(options)).rejects.toThrow(
    /backend\.lable: is not a known setting\. Did you mean "label"\?/,
  );
});
