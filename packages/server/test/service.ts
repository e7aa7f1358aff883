// A whole service without HTTP in this process: SQLite, a manual clock, a scripted model.

import { randomUUID } from "node:crypto";
import type { Message, PersistedMessage, Snapshot } from "@colloquy/protocol";
import { Registry as MetricsRegister } from "prom-client";
import { encodeFrame } from "../src/http/event-stream.ts";
import { loadConfig } from "../src/config/load-config.ts";
import type { Config } from "../src/config/config.ts";
import type { RequestedOptions } from "@colloquy/engine/internal/core/requested-options";
import type { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { Bus } from "@colloquy/engine/internal/core/ports/driven/bus";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type {
  RecordPage,
  SnapshotView,
  StreamFrame,
  StreamSink,
} from "@colloquy/engine/internal/core/ports/driving/services";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { openFiles } from "@colloquy/engine/internal/wiring/storage";
import { buildService, type Service } from "@colloquy/engine/internal/wiring/service";
import { openVault } from "@colloquy/engine/internal/wiring/master-keys";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { interceptStore, type BeforeCall } from "./intercepted-store.ts";
import { ManualClock } from "./manual-clock.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";

export const MODEL = "test/scripted";
/** Iterations of the event loop, not time; far more than anything here needs. */
const MAX_ROUNDS = 20_000;
/** After this many, each iteration yields the CPU for a moment: the store's thread may need it. */
const EAGER_ROUNDS = 2_000;
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export interface TestService extends Service {
  /** The configuration it was started with. */
  readonly config: Config;
  readonly store: Store;
  /** `null` without a `secretKey`. */
  readonly vault: ReturnType<typeof openVault> | null;
  readonly clock: ManualClock;
  readonly model: ScriptedModel;
  readonly register: MetricsRegister;
  /** Sends a message; returns the snapshot. */
  say(sessionId: string, message: string, more?: Partial<ChatOptions>): Promise<Snapshot>;
  snapshot(sessionId: string): Promise<Snapshot>;
  /** Advances the clock second by second, each time until the store has answered all requests. */
  pass(ms: number): Promise<void>;
  /** Lets half an hour pass without use, after which sessions are evicted from memory. */
  evict(): Promise<void>;
  /** Ends like a crashed process: releases nothing; the store stays. */
  crash(): Promise<void>;
  /** Ends like a graceful stop whose time is over. */
  close(): Promise<void>;
}

interface ChatOptions {
  readonly app: string;
  readonly publicKey: string | null;
  readonly userState: Record<string, never> | null;
  readonly idempotencyKey: string | null;
  readonly waitMs: number;
  readonly replaces: string | null;
  readonly busy: "steer" | "enqueue" | null;
  readonly options: RequestedOptions;
}

/** Returns the stored messages of one page. */
export async function recordsOf(
  { threads }: Pick<TestService, "threads">,
  ...query: Parameters<TestService["threads"]["messages"]>
): Promise<readonly PersistedMessage[]> {
  return (await portionsOf(await threads.messages(...query))).flat();
}

/** The records of a page, as they are read from the store. */
export async function portionsOf({ read }: RecordPage): Promise<readonly (readonly PersistedMessage[])[]> {
  const portions: (readonly PersistedMessage[])[] = [];
  for (let portion = await read(null); portion.length > 0; portion = await read(portion.at(-1)!.id)) {
    portions.push(portion);
  }
  return portions;
}

export interface TestServiceOptions {
  /** The data directory; in memory when absent. */
  readonly directory?: string;
  readonly clock?: ManualClock;
  /** Shared with other services; SQLite without other nodes when absent. */
  readonly shared?: (clock: ManualClock) => Promise<{ readonly store: Store; readonly bus: Bus | null }>;
  readonly adjust?: (config: Config) => Config;
  /** Intercepts every call of the store. */
  readonly beforeCall?: BeforeCall;
  readonly logger?: Logger;
  /** The model MODEL; one that waits for the test when absent. */
  readonly model?: ScriptedModel;
  /** Master key of secrets and of the service's own tokens; without it there are neither. */
  readonly secretKey?: Hidden<string>;
}

export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const clock = options.clock ?? new ManualClock();
  const model = options.model ?? new ScriptedModel();
  const config = await testConfig(options.adjust);
  const onFatal = (error: Error): never => {
    throw error;
  };
  const { beforeCall, logger = SILENT, shared } = options;
  const given = await shared?.(clock);
  const isAlone = given === undefined;
  const directory = options.directory ?? null;
  const opened = given?.store ?? (await openSqliteStore({ directory, isAlone, clock, onFatal }));
  let crashed = false;
  const store = interceptStore(opened, (method, parameters) => {
    if (crashed && method === "turns.handBack") throw new Error("A crashed process releases nothing");
    return beforeCall?.(method, parameters);
  });
  const register = new MetricsRegister();
  const bus = given?.bus ?? null;
  const extraModels = { [MODEL]: model };
  const walletListing = config.server.walletListing === "on";
  const vault =
    options.secretKey === undefined
      ? null
      : openVault({ dataDirectory: "", secretKey: options.secretKey }, store.secrets, logger);
  const keys = { vault, signingKeys: vault };
  // Beside the data, so that a service that starts again has them.
  const fileStore = await openFiles(config, { directory, clock, logger });
  const base = {
    config,
    fileStore,
    clock,
    logger,
    store,
    bus,
    isAlone,
    register,
    extraModels,
    walletListing,
    ...keys,
  };
  const parts = buildService(base);
  parts.leases.start();
  parts.actionExpiry.start();
  await parts.dispatcher.start();
  const state = (sessionId: string) =>
    parts.conversations.state(
      { sessionId, access: ANONYMOUS, userState: null, waitMs: 0, signal: new AbortController().signal },
      null,
    );
  const halt = async (): Promise<void> => {
    parts.titles.stop();
    parts.summaries.stop();
    parts.feed.stop();
    await parts.dispatcher.stop(0);
    parts.leases.stop();
    parts.registry.stop();
    await parts.cleanup.stop();
    await parts.actionExpiry.stop();
    await parts.hub.close();
    await store.close();
  };
  return {
    ...parts,
    config,
    store,
    vault,
    clock,
    model,
    register,
    say: async (sessionId, message, more = {}) => {
      const signal = new AbortController().signal;
      const base = {
        access: ANONYMOUS,
        app: "default",
        publicKey: null,
        userState: null,
        clientId: null,
        idempotencyKey: null,
        waitMs: 0,
      };
      return parse(await parts.conversations.chat({ ...base, ...more, sessionId, message, signal }, null));
    },
    snapshot: async (sessionId) => parse(await state(sessionId)),
    pass: async (ms) => {
      for (let left = ms; left > 0; left -= 1_000) {
        await clock.advance(Math.min(left, 1_000));
        await store.probe();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    evict: async () => {
      await clock.advance(31 * 60_000);
      await store.probe();
    },
    crash: async () => {
      crashed = true;
      await halt();
    },
    close: halt,
  };
}

export function newId(): string {
  return randomUUID();
}

export function parse(view: SnapshotView): Snapshot {
  return JSON.parse(Buffer.concat(view.parts).toString()) as Snapshot;
}

/** Returns each message as `sender status: content`. */
export function lines(messages: readonly Message[]): string[] {
  return messages.map((message) => `${message.sender} ${message.status}: ${message.content}`);
}

/** Iterates the event loop until the condition holds; throws after too many iterations. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (await condition()) return;
    await new Promise((resolve) => (round < EAGER_ROUNDS ? setImmediate(resolve) : setTimeout(resolve, 1)));
  }
  throw new Error(`Condition never became true: ${condition.toString()}`);
}

/** Adds Apps with the scripted model, otherwise like the default one. */
export function withApps(...names: readonly string[]): (config: Config) => Config {
  return (config) => {
    const app = { ...config.apps["default"]!, models: [MODEL], utilityModel: "demo/assistant" };
    const others = Object.fromEntries(names.map((name) => [name, app]));
    return { ...config, apps: { ...config.apps, ...others } };
  };
}

async function testConfig(adjust: ((config: Config) => Config) | undefined): Promise<Config> {
  const loaded = await loadConfig({
    environment: { HOST: "127.0.0.1", PORT: "0" },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const app = {
    ...config.apps["default"]!,
    models: [MODEL, "demo/assistant"],
    utilityModel: "demo/assistant",
  };
  const adjusted = { ...config, apps: { default: app } };
  return adjust === undefined ? adjusted : adjust(adjusted);
}

/** A client of the event stream with all groups, which records everything. */
export class RecordingSink implements StreamSink {
  text = "";
  ended: "finish" | "abort" | null = null;

  write(frame: StreamFrame): number {
    this.text += encodeFrame(frame).toString();
    return 0;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(how: "finish" | "abort"): void {
    this.ended = how;
  }
}
