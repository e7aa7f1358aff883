// A service with two Apps, `chatty` (requires its key for chat) and `closed` (requires its key for
// everything). Each has canaries: unique texts that must never appear outside the App.

import { randomUUID } from "node:crypto";
import { jsonSchema } from "ai";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { formatKey, newKey } from "@colloquy/engine/internal/apps/keys/key-text";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { AppSettings, OwnTool } from "@colloquy/engine/internal/core/app-settings";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import type { ToolContext } from "@colloquy/engine/internal/core/ports/driven/tool";
import { buildServer, type ColloquyServer } from "../../src/wiring/server.ts";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { type AppServers, startAppServers } from "./app-servers.ts";
import { newWallet } from "../black-box/client.ts";
import { echoProtocol } from "./echo-protocol.ts";
import { holdConversation, type Conversation } from "./conversation.ts";
import { recordingLogger } from "./recording-logger.ts";
import { RecordingModel } from "./recording-model.ts";
import { servedBy } from "./served-by.ts";

export const APPS = ["chatty", "closed"] as const;
export type AppName = (typeof APPS)[number];

/** An App's unique texts, by who may see them. */
export interface Canaries {
  /** For callers with access to the App's conversation: message, title, user state. */
  readonly conversation: readonly string[];
  /** For callers with access to the App: models, secret slots, texts of its model and tools. */
  readonly app: readonly string[];
  /** For the App's model only. */
  readonly instructions: string;
  /** For the App's tools only: the secret of a client. */
  readonly secret: string;
}

export interface IsolatedApp {
  readonly name: AppName;
  readonly rig: string;
  /** Name of the App's secret slot. */
  readonly slot: string;
  readonly model: RecordingModel;
  readonly canaries: Canaries;
  /** A conversation that contains the canaries and is bound to the shared wallet. */
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

/** The admin key, which must appear in no response and opens only the admin API. */
export const ADMIN_KEY = "admin-key-of-the-isolation-test";

export interface IsolationService {
  readonly url: string;
  readonly apps: Readonly<Record<AppName, IsolatedApp>>;
  /** Wallet of the conversations with canaries, in both Apps. */
  readonly wallet: string;
  readonly logged: string[];
  /** Secret parts of all keys, and the admin key. */
  readonly keySecrets: readonly string[];
  /** Returns the key that a caller sends for an operation on the App; `null` for none. */
  keyOf(caller: Caller, app: AppName): string | null;
  /** Creates a conversation in the App, with its canaries or neutral texts. */
  createConversation(app: AppName, canaries: boolean): Promise<Conversation>;
  /** Advances the clock past the rate limits. */
  passMinute(): void;
  close(): Promise<void>;
}

const canary = (app: string, kind: string): string => `canary-${app}-${kind}-${randomUUID().slice(0, 8)}`;

export async function startIsolationService(): Promise<IsolationService> {
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
    {
      ...base.config,
      apps: { default: base.default, ...apps },
      plugins: [...base.config.plugins, echoProtocol],
      protocols: servedBy("default", ...APPS),
    },
    {
      logger: recordingLogger(logged),
      onFatal,
      clock,
      store,
      models: Object.fromEntries(drafts.map(({ rig, model }) => [rig, model])),
    },
  );
  const keys = await createKeys(store);
  const { url } = await server.listen();
  const given = await createConversations({ server, url, drafts, keys, logged, wallet: newWallet() });
  const close = async (): Promise<void> => {
    await given.close();
    for (const one of servers) await one.close();
  };
  return { ...given, passMinute, close };
}

export type AppDraft<Name extends string = string> = ReturnType<typeof draftApp<Name>>;

export function draftApp<Name extends string>(name: Name) {
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
    // The service must scrub the secret from the output.
    execute: (_input, { context }: { readonly context: ToolContext }) => {
      context.attach({ data: Buffer.from(texts.tool), mediaType: "text/plain", name: "notes.txt" });
      return { notes: texts.tool, leaked: context.secret(slot) };
    },
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
      tools: {
        ...settings.tools,
        ...servers.settings,
        own: { notes },
        approvals: { notes: "always" },
        allowsClientTools: true,
      },
      secrets: [{ name: slot, description, required: false }],
      requireKey: name === "closed" ? "all" : "chat",
    }),
  };
}

export async function baseConfig(): Promise<{ readonly config: Config; readonly default: AppSettings }> {
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

type Keys = Awaited<ReturnType<typeof createKeys>>;

async function createKeys(store: Store) {
  const clock = createSystemClock();
  const administration = new KeyAdministration({ store: store.keys, clock, apps: () => APPS });
  const make = (...apps: readonly AppName[]) =>
    administration.create({ apps, scopes: [], name: null, expiresInMs: null });
  const revoked = await make(...APPS);
  await administration.revoke(revoked.id);
  const expired = await administration.create({ apps: APPS, scopes: [], name: null, expiresInMs: -1000 });
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

interface StartedService {
  readonly server: ColloquyServer;
  readonly url: string;
  readonly drafts: readonly AppDraft<AppName>[];
  readonly keys: Keys;
  readonly logged: string[];
  readonly wallet: string;
}

async function createConversations({
  server,
  url,
  drafts,
  keys,
  logged,
  wallet,
}: StartedService): Promise<Omit<IsolationService, "passMinute">> {
  const createConversation = async (app: AppName, canaries: boolean): Promise<Conversation> => {
    const draft = drafts.find(({ name }) => name === app)!;
    return await holdConversation({
      url,
      credentials: { "SERVICE-APP-KEY": keys[app] },
      draft,
      wallet: canaries ? wallet : null,
      clientId: canaries ? "owner" : "somebody",
    });
  };
  const apps = await Promise.all(
    drafts.map(async ({ name, rig, slot, model, canaries }) => {
      const conversation = await createConversation(name, true);
      const given: IsolatedApp = { name, rig, slot, model, canaries, conversation };
      return [name, given] as const;
    }),
  );
  return {
    url,
    apps: Object.fromEntries(apps) as Record<AppName, IsolatedApp>,
    wallet,
    logged,
    keySecrets: [...Object.values(keys).map((key) => key.slice(key.lastIndexOf("_") + 1)), ADMIN_KEY],
    keyOf: (caller, app) => keyOf(keys, caller, app),
    createConversation,
    close: () => server.stop({ graceMs: 1000 }),
  };
}
