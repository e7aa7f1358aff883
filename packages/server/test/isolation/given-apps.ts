// A service with two Apps, `chatty` (requires its key for chat) and `closed` (for everything), each with
// unique texts that must never appear outside it, and all kinds of callers.

import { randomUUID } from "node:crypto";
import { jsonSchema } from "ai";
import { createSystemClock } from "../../src/wiring/clock.ts";
import { KeyAdministration } from "../../src/apps/keys/key-administration.ts";
import { formatKey, newKey } from "../../src/apps/keys/key-text.ts";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { AppSettings, OwnTool } from "../../src/core/app-settings.ts";
import type { Store } from "../../src/core/ports/driven/store.ts";
import type { ToolContext } from "../../src/core/ports/driven/tool.ts";
import { buildServer, type ColloquyServer } from "../../src/wiring/server.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { type AppServers, startAppServers } from "./app-servers.ts";
import { newWallet } from "../black-box/client.ts";
import { makeConversation, type Conversation } from "./conversation.ts";
import { recordingLogger } from "./recording-logger.ts";
import { RecordingModel } from "./recording-model.ts";

export const APPS = ["chatty", "closed"] as const;
export type AppName = (typeof APPS)[number];

/** Texts that occur only within an App. */
export interface Canaries {
  /** Of its conversation: message, title, user state. */
  readonly conversation: readonly string[];
  /** For callers with access to the App: models, secret slots, texts of its model and tools. */
  readonly app: readonly string[];
  /** Only for its model. */
  readonly instructions: string;
  /** Only for its tools: the value in a client's slot. */
  readonly secret: string;
}

export interface GivenApp {
  readonly name: AppName;
  readonly rig: string;
  /** The secret slot. */
  readonly slot: string;
  readonly model: RecordingModel;
  readonly canaries: Canaries;
  /** Contains the canaries, and is bound to the shared wallet. */
  readonly conversation: Conversation;
}

/** The kinds of callers, as named in docs/security.md. */
export const CALLERS = [
  "no key",
  "malformed key",
  "unknown key",
  "revoked key",
  "expired key",
  "other App's key",
  "own key",
  "key of both",
  "other person",
] as const;
export type Caller = (typeof CALLERS)[number];

/** The admin key: never shown, and valid for nothing else. */
export const ADMIN_KEY = "admin-key-of-the-isolation-test";

export interface GivenService {
  readonly url: string;
  readonly apps: Readonly<Record<AppName, GivenApp>>;
  /** The wallet that all conversations with canaries are bound to, in both Apps. */
  readonly wallet: string;
  readonly logged: string[];
  /** Secret keys, including the admin key: never shown. */
  readonly keySecrets: readonly string[];
  /** Returns the key that a caller sends for an operation on the App, `null` for none. */
  keyOf(caller: Caller, app: AppName): string | null;
  /** Creates a conversation in the App. */
  converse(app: AppName, canaries: boolean): Promise<Conversation>;
  /** Advances the clock past the rate limits. */
  passMinute(): void;
  close(): Promise<void>;
}

const canary = (app: string, kind: string): string => `canary-${app}-${kind}-${randomUUID().slice(0, 8)}`;

export async function givenService(): Promise<GivenService> {
  const system = createSystemClock();
  let passedMs = 0;
  const clock = { ...system, monotonic: () => system.monotonic() + passedMs };
  const passMinute = (): void => void (passedMs += 60_001);
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const logged: string[] = [];
  const drafts = APPS.map((name) => draftApp(name));
  const base = await baseConfig();
  const servers = await Promise.all(drafts.map(({ texts, slot }) => startAppServers(texts, slot)));
  const apps = Object.fromEntries(
    drafts.map(({ name, settings }, index) => [name, settings(base.default, servers[index]!)]),
  );
  const server = await buildServer(
    { ...base.config, apps: { default: base.default, ...apps } },
    {
      logger: recordingLogger(logged),
      onFatal,
      clock,
      store,
      models: Object.fromEntries(drafts.map(({ rig, model }) => [rig, model])),
    },
  );
  const keys = await makeKeys(store);
  const { url } = await server.listen();
  const given = await fill({ server, url, drafts, keys, logged, wallet: newWallet() });
  const close = async (): Promise<void> => {
    await given.close();
    for (const one of servers) await one.close();
  };
  return { ...given, passMinute, close };
}

export type AppDraft = ReturnType<typeof draftApp>;

function draftApp(name: AppName) {
  const texts = {
    message: canary(name, "message"),
    answer: canary(name, "answer"),
    title: canary(name, "title"),
    state: canary(name, "state"),
    tool: canary(name, "tool"),
    mcp: canary(name, "mcp"),
    openapi: canary(name, "openapi"),
    input: canary(name, "input"),
  };
  const rig = `test/${canary(name, "model")}`;
  const slot = canary(name, "slot").toUpperCase().replaceAll("-", "_");
  const description = canary(name, "description");
  const instructions = canary(name, "instructions");
  const notes: OwnTool = {
    description: "Reads the notes",
    inputSchema: jsonSchema({ type: "object", properties: { about: { type: "string" } } }),
    // Only the tool may know the secret: its output is scrubbed.
    execute: (_input, { context }: { readonly context: ToolContext }) => ({
      notes: texts.tool,
      leaked: context.secret(slot),
    }),
  };
  const canaries: Canaries = {
    conversation: [texts.message, texts.title, texts.state],
    app: [rig, slot, description, texts.answer, texts.tool, texts.mcp, texts.openapi, texts.input],
    instructions,
    secret: canary(name, "secret"),
  };
  return {
    name,
    rig,
    slot,
    texts,
    canaries,
    model: new RecordingModel(texts.answer, { about: texts.input }),
    settings: (settings: AppSettings, servers: AppServers): AppSettings => ({
      ...settings,
      models: [rig],
      utilityModel: rig,
      instructions,
      tools: { ...settings.tools, ...servers.settings, own: { notes }, approvals: { notes: "always" } },
      secrets: [{ name: slot, description, required: false }],
      requireKey: name === "closed" ? "all" : "chat",
    }),
  };
}

async function baseConfig(): Promise<{ readonly config: Config; readonly default: AppSettings }> {
  const environment = {
    HOST: "127.0.0.1",
    PORT: "0",
    COLLOQUY_SECRET_KEY: "0f1e".repeat(16),
    COLLOQUY_ADMIN_KEY: ADMIN_KEY,
  };
  const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return { config: loaded.config, default: loaded.config.apps["default"]! };
}

type Keys = Awaited<ReturnType<typeof makeKeys>>;

async function makeKeys(store: Store) {
  const clock = createSystemClock();
  const administration = new KeyAdministration({ store: store.keys, clock, apps: APPS });
  const make = (...apps: readonly AppName[]) =>
    administration.create({ apps, name: null, expiresInMs: null });
  const revoked = await make(...APPS);
  await administration.revoke(revoked.id);
  const expired = await administration.create({ apps: APPS, name: null, expiresInMs: -1000 });
  return {
    chatty: (await make("chatty")).key,
    closed: (await make("closed")).key,
    both: (await make(...APPS)).key,
    revoked: revoked.key,
    expired: expired.key,
    unknown: formatKey(newKey()),
  };
}

function keyOf(keys: Keys, caller: Caller, app: AppName): string | null {
  switch (caller) {
    case "no key":
      return null;
    case "malformed key":
      return "clq_nonsense";
    case "unknown key":
      return keys.unknown;
    case "revoked key":
      return keys.revoked;
    case "expired key":
      return keys.expired;
    case "other App's key":
      return keys[app === "chatty" ? "closed" : "chatty"];
    case "own key":
    case "other person":
      return keys[app];
    case "key of both":
      return keys.both;
  }
}

interface Unfilled {
  readonly server: ColloquyServer;
  readonly url: string;
  readonly drafts: readonly AppDraft[];
  readonly keys: Keys;
  readonly logged: string[];
  readonly wallet: string;
}

async function fill({
  server,
  url,
  drafts,
  keys,
  logged,
  wallet,
}: Unfilled): Promise<Omit<GivenService, "passMinute">> {
  const converse = async (app: AppName, canaries: boolean): Promise<Conversation> => {
    const draft = drafts.find(({ name }) => name === app)!;
    return await makeConversation({ url, key: keys[app], draft, wallet: canaries ? wallet : null });
  };
  const apps = await Promise.all(
    drafts.map(async ({ name, rig, slot, model, canaries }) => {
      const conversation = await converse(name, true);
      const given: GivenApp = { name, rig, slot, model, canaries, conversation };
      return [name, given] as const;
    }),
  );
  return {
    url,
    apps: Object.fromEntries(apps) as Record<AppName, GivenApp>,
    wallet,
    logged,
    keySecrets: [...Object.values(keys).map((key) => key.slice(key.lastIndexOf("_") + 1)), ADMIN_KEY],
    keyOf: (caller, app) => keyOf(keys, caller, app),
    converse,
    close: () => server.stop({ graceMs: 1000 }),
  };
}
