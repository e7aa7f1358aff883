// The HTTP server over a real in-memory service, with a manual clock and a captured log. A test file starts one
// service; each test builds an edge with its own session.

import { randomBytes, randomUUID } from "node:crypto";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Snapshot } from "@colloquy/protocol";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { Registry } from "prom-client";
import { afterAll, afterEach, expect } from "vitest";
import { createApps } from "@colloquy/engine/internal/apps/app-catalog";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { PublicPage } from "@colloquy/engine/internal/apps/public-page";
import { createSecretService } from "@colloquy/engine/internal/apps/secrets/vault";
import type { AppSettings } from "@colloquy/engine/internal/core/app-settings";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import { loadOnce } from "@colloquy/engine/internal/core/load-once";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { DEFAULT_RATE_LIMITS, type RateLimits } from "@colloquy/engine/internal/core/rate-limits";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { createReadiness } from "../../admin/readiness.ts";
import { readHandles } from "@colloquy/engine/internal/wiring/storage";
import { DocumentedApi } from "../../../test/documented-api.ts";
import { expectDocumented } from "../../../test/documented-traffic.ts";
import type { BeforeCall } from "../../../test/intercepted-store.ts";
import { ScriptedCall, ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { MODEL, startService, type TestService } from "../../../test/service.ts";
import aiSdk from "@colloquy/ai-sdk";
import { buildAdmin } from "../../wiring/server.ts";
import { buildHttp, type HttpParts } from "../app.ts";
import type { HttpConfig } from "../edge.ts";
import type { ProtocolPlugin } from "../protocol.ts";
import type { HttpApp } from "../routes/route-parts.ts";
import { expectProblem } from "./expect-problem.ts";

export const WALLET = "0x8ba1f109551bd432803012645ac136ddd64dba72";
export const ADMIN_KEY = "sixteen-or-more-characters";
/** The model's answer, in every App. */
const ANSWER = "Hello.";

type Method = NonNullable<InjectOptions["method"]>;

export type EdgeChanges = Partial<Omit<HttpConfig, "rateLimits">> & {
  readonly rateLimits?: Partial<RateLimits>;
};

export interface EdgeParts extends Pick<HttpParts, "rateCounters" | "pages"> {
  /** True to serve the admin API, with ADMIN_KEY. */
  readonly hasAdmin?: boolean;
  /** Additional protocols, without settings. */
  readonly protocols?: readonly ProtocolPlugin[];
  /** True if other nodes can run the turns of new chats while this one stops. */
  readonly hasOtherNodes?: boolean;
  /** App that was removed from the configuration. */
  readonly removedApp?: string;
}

export interface TestEdge {
  readonly app: HttpApp;
  readonly services: HttpParts["services"];
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[];
  /** Id of a session that does not exist yet. */
  readonly session: string;
  /**
   * Sends a request with the header `X-Session-Id: session`, unless its headers override it, and checks the response
   * against the OpenAPI document. `{id}` in the URL is replaced by the session id.
   */
  send(method: Method, url: string, options?: InjectOptions): Promise<LightMyRequestResponse>;
  /** Makes this edge report that the service is stopping. */
  stop(): void;
}

export interface Edges {
  readonly service: TestService;
  testEdge(changes?: EdgeChanges, parts?: EdgeParts): TestEdge;
  /** Creates and returns a key for these Apps. Without `scopes`, it has all App scopes. */
  key(apps: readonly string[], scopes?: readonly KeyScope[]): Promise<string>;
  /** Revokes a key and lets cached grants expire. */
  revoke(key: string): Promise<void>;
  /** Advances the clock by this many milliseconds. */
  pass(ms: number): Promise<void>;
  /** Calls this function before each store call, until the end of the test. */
  intercept(before: BeforeCall): void;
  /** Blocks the first store call of this kind until `open` is called. */
  gateAt(kind: string): { readonly reached: Promise<void>; readonly open: () => void };
  exists(session: string): Promise<boolean>;
}

type AppChanges = Partial<Omit<AppSettings, "tools">> & { readonly tools?: Partial<AppSettings["tools"]> };

export interface EdgesOptions {
  /** Settings by App name, merged over the base settings. `default` always exists. */
  readonly apps?: Readonly<Record<string, AppChanges>>;
}

/** Maximum age of a cached grant in milliseconds. */
const GRANT_MS = 2_000;

/** Starts a service for the test file and closes it after the last test. */
export async function startEdges({ apps = {} }: EdgesOptions = {}): Promise<Edges> {
  const passOn: BeforeCall = () => undefined;
  let before = passOn;
  const service = await startService({
    model: new AnsweringModel(),
    secretKey: new Hidden(randomBytes(32).toString("base64")),
    beforeCall: (method, parameters) => before(method, parameters),
    adjust: (config) => {
      const base = { ...config.apps["default"]!, models: [MODEL, "demo/assistant"] };
      const all = { default: {}, ...apps };
      const entries = Object.entries<AppChanges>(all).map(([name, { tools, ...changes }]) => [
        name,
        { ...base, ...changes, tools: { ...base.tools, ...tools } },
      ]);
      return { ...config, adminKey: new Hidden(ADMIN_KEY), apps: Object.fromEntries(entries) };
    },
  });
  afterEach(() => void (before = passOn));
  afterAll(() => service.close());
  const { store, clock, config } = service;
  const handles = await readHandles(store);
  const keys = new KeyAdministration({ store: store.keys, clock, logger: SILENT, apps: service.apps.names });
  const secrets = createSecretService(service.apps, service.vault!);
  const { log } = createLog();
  const build = (changes: EdgeChanges, parts: EdgeParts, logger: Logger, register: Registry) => {
    const isAlone = parts.hasOtherNodes !== true;
    const readiness = createReadiness({ store, isAlone, clock, logger });
    const foundations = { config, handles, service, readiness, clock, logger };
    const { removedApp } = parts;
    const apps =
      removedApp === undefined
        ? service.apps
        : createApps(Object.fromEntries(Object.entries(config.apps).filter(([name]) => name !== removedApp)));
    const services: HttpParts["services"] = {
      ...service,
      apps,
      updates: service.feed,
      readiness,
      secrets,
      publicPage: new PublicPage({
        apps: service.apps,
        operators: null,
        now: () => clock.monotonic(),
        logger,
      }),
    };
    const app = buildHttp({
      services,
      config: {
        loopback: true,
        corsOrigins: [],
        allowedHosts: [],
        trustedProxies: [],
        signInDomains: [],
        bodyBytes: 256 * 1024 * 1024,
        ...changes,
        rateLimits: { ...DEFAULT_RATE_LIMITS, ...changes.rateLimits },
      },
      logger,
      register,
      clock,
      rateCounters: parts.rateCounters ?? null,
      admin:
        parts.hasAdmin === true
          ? buildAdmin({
              ...foundations,
              storage: { store, busServer: { kind: "in-process", check: null } },
            })
          : null,
      protocols: [aiSdk, ...(parts.protocols ?? [])].map((plugin) => ({ plugin, settings: new Hidden({}) })),
      sessionBytes: 1024,
      ...(parts.pages !== undefined && { pages: parts.pages }),
    });
    return { app, services, readiness };
  };
  /** The service's OpenAPI document, including the admin operations. */
  const document = loadOnce(async () => {
    const { app } = build({}, { hasAdmin: true }, log, new Registry());
    return new DocumentedApi((await app.inject("/openapi.json")).json());
  });
  return {
    service,
    testEdge(changes = {}, parts = {}) {
      const session = randomUUID();
      const { lines, log: logger } = createLog();
      const { app, services, readiness } = build(changes, parts, logger, new Registry());
      return {
        app,
        services,
        lines,
        session,
        async send(method, path, options = {}) {
          const url = path.replace("{id}", session);
          const sent = { "x-session-id": session, ...options.headers };
          const answer = await app.inject({ method, url, ...options, headers: sent });
          const { statusCode: status, headers, body: text } = answer;
          const traffic = { method, target: url, sent, body: null, status, headers, text };
          expectDocumented(await document(), traffic);
          return answer;
        },
        stop: () => readiness.stop(),
      };
    },
    async key(opened, scopes = []) {
      const { key } = await keys.create({ apps: opened, scopes, name: null, expiresInMs: null });
      return key;
    },
    async revoke(key) {
      await keys.revoke(key.split("_")[1]!);
      await clock.advance(GRANT_MS);
    },
    pass: (ms) => clock.advance(ms),
    intercept: (next) => void (before = next),
    gateAt(kind) {
      const reached = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      let isFirst = true;
      before = (method) => {
        if (method !== kind || !isFirst) return undefined;
        isFirst = false;
        reached.resolve();
        return gate.promise;
      };
      return { reached: reached.promise, open: gate.resolve };
    },
    exists: async (session) => (await service.conversations.position(session, null)) !== null,
  };
}

/** Answers immediately. A user message that contains `call NAME` makes it call the tool NAME. */
class AnsweringModel extends ScriptedModel {
  override async doStream(options: LanguageModelV4CallOptions) {
    const call = new ScriptedCall(options);
    const tool = /^user: .*call (\w+)/.exec(call.prompt.at(-1) ?? "")?.[1];
    if (tool === undefined) call.say(ANSWER).finish();
    else call.callTool(tool, {}).finish("tool-calls");
    return { stream: call.stream };
  }
}

function createLog() {
  const lines: { level: string; fields: object; message: string }[] = [];
  const write = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  const log: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  };
  return { lines, log };
}

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates the session. With an App, sends `message` and resolves after the answer. */
export async function createSession(
  { service }: Edges,
  session: string,
  app?: string | null,
  message = "hello",
): Promise<Snapshot> {
  if (typeof app === "string") return await service.say(session, message, { app, waitMs: 60_000 });
  await service.conversations.ensure(session, ANONYMOUS, null);
  return await service.snapshot(session);
}

export function expectUnauthorized(answer: LightMyRequestResponse): void {
  expectProblem(answer, 401, "app_key_invalid");
  expect(answer.headers["www-authenticate"]).toBe('ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"');
}

/** Returns request options with this App key. */
export const keyed = (key: string) => ({ headers: { "service-app-key": key } });
