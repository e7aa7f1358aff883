// Fills a store: rows in every table, and every stored state of turns and sessions.

import { createHash, randomUUID } from "node:crypto";
import { SERVICE_ACTOR } from "@colloquy/engine/internal/core/audit";
import type { NewFile } from "@colloquy/engine/internal/core/file";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import {
  askOf,
  callOf,
  chat,
  claimOf,
  complete,
  existing,
  identityOf,
  messagesOf,
  MODEL,
  NOTHING,
  startTurn,
  step,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";

export interface Filled {
  readonly done: string;
  readonly running: string;
  readonly waiting: string;
  readonly queued: string;
  readonly all: readonly string[];
}

const TEXT = 'Grüße, 你好, 👩‍👩‍👧 "quoted" \\ and\n\tlines ';
export const WALLET = "0xabc";

/** Bytes of the file of `done`. */
export const FILE = { blob: "default/0f2f6c9e-5b1d-4f6e-9c3a-7d1e2b3c4d5e", content: Buffer.from(TEXT) };

/** Bytes of the file of a tool in `done`. */
export const DRAWN = { blob: "default/3c1b9f52-7a0e-4d8b-8f46-5e2a9d7c6b10", content: FILES.png };

async function drawnFile(store: Store): Promise<NewFile> {
  const { blob, content } = DRAWN;
  const sha256 = createHash("sha256").update(content).digest("hex");
  const file = {
    id: randomUUID(),
    app: "default",
    sha256,
    mediaType: "image/png",
    name: `${TEXT}.png`,
    blob,
  };
  const bytes = content.length;
  const sessionId = randomUUID();
  await store.files.expect({ blob, app: "default", sessionId, owner: null, bytes }, 60_000);
  return { ...file, bytes };
}

async function addFile(store: Store, session: string): Promise<string> {
  const { blob, content } = FILE;
  const sha256 = createHash("sha256").update(content).digest("hex");
  const file = { id: randomUUID(), app: "default", sha256, mediaType: "text/plain", name: TEXT, blob };
  const input = { ...file, bytes: content.length };
  await store.files.expect(
    { blob, app: "default", sessionId: session, owner: null, bytes: input.bytes },
    60_000,
  );
  await store.execute({ kind: "addFile", target: target(session), input });
  return file.id;
}

/** `extra`: further sessions with one answered chat each. */
export async function fillStore(store: Store, extra = 0): Promise<Filled> {
  const [done, running, waiting, queued] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const idempotency = { key: "k", digest: "d" };
  const file = await addFile(store, done);
  const finished = await startTurn(store, done, TEXT, {
    publicKey: WALLET,
    clientId: "web-1",
    idempotency,
    attachments: [file],
  });
  const call = callOf("a", { arguments: { zebra: 1, alpha: [TEXT] } });
  await store.execute({
    kind: "stepWithCalls",
    target: { turn: identityOf(finished) },
    input: { step: step(1, TEXT), calls: [call], actions: [] },
  });
  await chat(store, done, `${TEXT} faster`, { onBusy: "steer" });
  const result = {
    callId: "a",
    output: TEXT,
    isError: false,
    durationMs: 3,
    files: [await drawnFile(store)],
  };
  await store.execute({
    kind: "toolResult",
    target: { turn: identityOf(finished) },
    input: { outcome: result, starts: [] },
  });
  await store.execute({
    kind: "beginStep",
    target: { turn: identityOf(finished) },
    input: { step: 2, agentMessageId: randomUUID() },
  });
  await store.execute({
    kind: "complete",
    target: { turn: identityOf(finished) },
    input: {
      summaryBudget: 9_000,
      step: {
        ...step(2, "Done.", { parts: [{ type: "reasoning", text: TEXT }] }),
        data: { zebra: 1, alpha: [TEXT] },
        sources: [{ id: "1", url: "https://example.com/", title: TEXT }],
      },
    },
  });
  await store.execute({
    kind: "keepSummary",
    target: { session: done, incarnation: finished.incarnation },
    input: {
      messageId: finished.agentMessage.id,
      summary: { text: TEXT, tokensBefore: 900, tokensAfter: 10 },
    },
  });
  await store.execute({
    kind: "edit",
    target: existing(done),
    input: { title: TEXT.trim(), metadata: { project: TEXT, nested: { list: [1, null] } }, archived: true },
  });
  await store.execute({
    kind: "open",
    target: existing(done),
    input: { userState: { b: 1, a: { c: TEXT } }, publicKey: null },
  });

  const started = await startTurn(store, running, "run", { publicKey: WALLET });
  await store.execute({
    kind: "stepWithCalls",
    target: { turn: identityOf(started) },
    input: { step: step(1, "One."), calls: [callOf("b")], actions: [] },
  });
  await store.turns.checkpoint([{ turn: identityOf(started), offset: 0, text: TEXT }]);
  await chat(store, running, "and then?");

  const asking = await startTurn(store, waiting, "ask");
  const asked = callOf("c", { phase: "asked", effect: "unsafe" });
  await store.execute({
    kind: "stepWithCalls",
    target: { turn: identityOf(asking) },
    input: { step: step(1, "May I?"), calls: [asked], actions: [askOf("c")] },
  });
  await store.execute({ kind: "wait", target: { turn: identityOf(asking) }, input: null });

  await chat(store, queued, "later");
  const shaped = await editAndCopy(store);
  for (let count = 0; count < extra; count += 1) {
    const id = randomUUID();
    await complete(store, await startTurn(store, id, `${count} ${TEXT}`), `${TEXT} ${count}`);
  }
  await store.execute({ kind: "open", target: target(randomUUID()), input: NOTHING });
  const deleted = randomUUID();
  await store.execute({ kind: "open", target: target(deleted), input: NOTHING });
  await store.execute({ kind: "delete", target: existing(deleted), input: null });
  await fillAdministration(store);
  return { done, running, waiting, queued, all: [done, running, waiting, queued, ...shaped] };
}

/** Adds a session whose second message has replaced one that was sent with a key, and a copy of it. */
async function editAndCopy(store: Store): Promise<readonly string[]> {
  const [edited, copy] = [randomUUID(), randomUUID()];
  await complete(store, await startTurn(store, edited, "first"), "Done.");
  const idempotency = { key: "k", digest: "d" };
  await complete(store, await startTurn(store, edited, TEXT, { idempotency }), TEXT);
  const [, , question] = await messagesOf(store, edited);
  await complete(store, await startTurn(store, edited, "instead", { replaces: question?.id ?? "" }), "Done.");
  const input = { origin: edited, through: null, access: ANONYMOUS, messageId: randomUUID() };
  await store.execute({ kind: "fork", target: target(copy), input });
  return [edited, copy];
}

async function fillAdministration(store: Store): Promise<void> {
  const times = { createdAt: 5, expiresAt: null, revokedAt: null };
  await store.keys.add({
    id: "key1",
    name: TEXT,
    apps: ["defi"],
    scopes: ["read"],
    digest: "0".repeat(64),
    ...times,
  });
  await store.secrets.bringInForce("master", null);
  const secret = { app: "defi", clientId: "web-1", name: "A", keyId: "master", sealed: "c2VhbGVk" };
  await store.secrets.put([secret]);
  await store.users.revokeToken("token", 5);
  await store.audit.add({
    action: "key_created",
    actor: SERVICE_ACTOR,
    app: null,
    target: "key1",
    details: {},
  });
  await store.audit.saltOf("owner", "salt");
  await store.admin.handleKey("handles");
}

/** Claims all turns that may run. */
export function claimAll(store: Store) {
  const ids = Array.from({ length: 10 }, () => claimOf().agentMessageId);
  return store.executeEach({
    kind: "claimTurns",
    owner: "somebody",
    agentMessageIds: ids,
    fullProviders: [],
    models: { default: [MODEL] },
  });
}
