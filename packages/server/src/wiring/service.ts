// The parts of a running service, constructed in the order of their dependencies. server.ts provides the foundations, and
// starts and stops the parts.

import { randomUUID } from "node:crypto";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Registry as MetricsRegister } from "prom-client";
import { createApps } from "../apps/app-catalog.ts";
import { CheckedKeys } from "../apps/keys/checked-keys.ts";
import { CheckedTokens } from "../apps/users/user-tokens.ts";
import { WalletSignIn, type WalletSignInOptions } from "../apps/users/wallet-sign-in.ts";
import { ProcessEventHub } from "../bus/event-hub.ts";
import { Feed } from "../bus/feed.ts";
import { type Config, restartWarnings } from "../config/config.ts";
import { isPublic } from "../core/loopback.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Bus } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SecretVault, SigningKeys } from "../core/ports/driven/secret-store.ts";
import type { SchemaChecks } from "../core/ports/driven/schema-check.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import type { AuditTrail } from "../core/ports/driving/audit-service.ts";
import { createAuditTrail } from "../admin/audit-trail.ts";
import { createModelCatalog, type ModelCatalogOptions, type ReplaceableModels } from "../models/catalog.ts";
import { ActionExpiry, Actions } from "../sessions/actions.ts";
import { Cleanup } from "../sessions/cleanup.ts";
import { Conversations, type ConversationsOptions } from "../sessions/conversations.ts";
import { inheritSessions } from "../sessions/former-owner.ts";
import { ModelChoices } from "../sessions/model-choice.ts";
import { followOtherNodes, ReplicaSync, VersionReads } from "../sessions/replica-sync.ts";
import { SessionCache } from "../sessions/session-cache.ts";
import { SessionRegistry } from "../sessions/session-registry.ts";
import { UserData } from "../sessions/user-data.ts";
import { Threads } from "../sessions/threads.ts";
import { Titles } from "../sessions/titles.ts";
import { openJournal } from "../sessions/turn-journal.ts";
import { builtInTools } from "../tools/built-in/built-in-tools.ts";
import { planDemoTools } from "../tools/demo/demo-tools.ts";
import { planMcpServer } from "../tools/mcp/mcp-source.ts";
import { planOpenApi } from "../tools/openapi/openapi-source.ts";
import { createOutbound } from "../tools/outbound/outbound.ts";
import { planOwnTools } from "../tools/own/own-tool.ts";
import { fixedSource } from "../tools/tool-source.ts";
import { planClientTools } from "../tools/client/client-tools.ts";
import { AppTools, type AppToolsOptions } from "../tools/toolset.ts";
import { createWalletTools } from "../tools/wallet/wallet-tools.ts";
import { Dispatcher } from "../turns/dispatcher.ts";
import type { TurnJournals } from "../turns/journal.ts";
import { Leases } from "../turns/leases.ts";
import { ModelCaller } from "../turns/model-step.ts";
import { RunningTurns, type SlotLimits } from "../turns/running-turns.ts";
import { TurnRunner, type TurnRunnerOptions } from "../turns/run.ts";
import { SchemaChecker } from "../schemas/schema-checker.ts";
import { generateTitle } from "../turns/utility-model.ts";
import { createTurnMetrics, registerGauges } from "./operations.ts";

const DAY_MS = 24 * 60 * 60_000;

export interface Foundations {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  /** `null` if there are no other nodes. */
  readonly bus: Bus | null;
  readonly register: MetricsRegister;
  /** True if no other process uses the store. */
  readonly isAlone: boolean;
  /** Models by rig, in addition to the configured ones. */
  readonly extraModels: Readonly<Record<string, LanguageModelV4>>;
  /** Vault for secrets; absent if the service stores none. */
  readonly vault?: SecretVault | null;
  /** Keys of this service's own tokens; absent if it issues none. */
  readonly signingKeys?: SigningKeys | null;
}

export type Service = ReturnType<typeof buildService>;

/** Creates the models of the configured providers; `extraModels` take precedence. */
export function createModels(
  config: Config,
  clock: Clock,
  extraModels: ModelCatalogOptions["extraModels"] = {},
): ReplaceableModels {
  const { maxSteps } = config.limits;
  return createModelCatalog({ providers: providersOf(config), clock, extraModels, maxSteps });
}

export function buildService(base: Foundations) {
  const { config, clock, logger, store, register, extraModels } = base;
  const apps = createApps(config.apps);
  const models = createModels(config, clock, extraModels);
  const schemas = new SchemaChecker({ clock });
  const tools = createTools({ ...base, schemas }, (rig) => models.isDemo(rig));
  const caller = new ModelCaller();
  const memory = buildMemory(base, apps);
  const { hub, running, cache, registry } = memory;
  const { dispatcher, leases, owner } = buildTurns(base, memory, { apps, models, caller, tools, schemas });
  const titles = new Titles({
    store,
    registry,
    apps,
    clock,
    logger,
    generate: (rig, message, signal) => generateTitle(models, caller, { rig, message, signal }),
    failureCode: (error) => models.describeFailure(error).code,
  });
  const conversations = buildConversations(base, memory, { dispatcher, titles, apps, schemas });
  const asking = { store, registry, dispatcher };
  const threads = new Threads({ ...asking, walletListing: config.server.walletListing === "on" });
  const audit = createAuditTrail({ store: store.audit, logger });
  const feed = buildFeed(base, hub, conversations, cache);
  followOtherNodes({ hub, registry, cache, running, dispatcher });
  const { events: keepCount, eventMs: keepMs, auditDays } = config.retention;
  const kept = { events: { keepCount, keepMs }, auditMs: auditDays * DAY_MS };
  const cleanup = new Cleanup({ store, registry, dispatcher, clock, logger, apps, ...kept });
  const gauges = gaugesOf({ running, dispatcher, cache, feed });
  registerGauges(register, gauges);
  const workers = { hub, registry, dispatcher, leases, titles, cleanup, tools, schemas };
  return {
    ...workers,
    conversations,
    threads,
    models: new ModelChoices(store, registry, apps),
    actions: new Actions({ ...asking, results: tools }),
    actionExpiry: new ActionExpiry({ ...asking, clock, logger }),
    apps,
    keys: new CheckedKeys({ store: store.keys, clock, apps }),
    ...buildSignIn(base, apps, { registry, audit }),
    audit,
    userData: new UserData({ store, threads, audit, clock, logger }),
    feed,
    gauges,
    /** Identifies this process as the owner of turns. */
    owner,
    /** Makes requests and streams read the store again. */
    dropMemory(): void {
      registry.invalidateAll();
      feed.restartStreams();
    },
    /** Replaces Apps, models and tools; running turns keep theirs. Returns warnings about changes that need a restart. */
    reload(next: Config): readonly string[] {
      // Replace the tools first: if that throws, nothing is replaced.
      tools.replace(next.apps);
      apps.replace(next.apps);
      models.replace(providersOf(next));
      return restartWarnings(config, next);
    },
  };
}

function gaugesOf({ running, dispatcher, cache, feed }: Gauged) {
  return {
    runningTurns: () => running.size,
    waitingTurns: () => dispatcher.waiting,
    liveSessions: () => cache.size,
    snapshotBytes: () => cache.weight,
    openStreams: () => feed.openStreams,
  };
}

interface Gauged {
  readonly running: RunningTurns;
  readonly dispatcher: Dispatcher;
  readonly cache: SessionCache;
  readonly feed: Feed;
}

/** The event hub, the turns that run here, and the sessions in memory. */
function buildMemory({ config, clock, logger, store, bus, isAlone }: Foundations, apps: AppCatalog) {
  const { events, sessions } = store;
  const versions = isAlone ? null : new VersionReads(sessions);
  const hub = new ProcessEventHub({ bus, clock, logger, versions });
  const running = new RunningTurns(slotLimitsOf(config));
  const { memoryBytes: budgetBytes, idleMemoryMs: idleMs } = config.limits;
  const cache = new SessionCache({ budgetBytes, idleMs, clock, running, hub, logger });
  const sync = versions === null ? null : new ReplicaSync({ versions, events, sessions, running });
  const registry = new SessionRegistry({ store, hub, clock, logger, cache, sync, running, apps });
  return { versions, hub, running, cache, registry };
}

/** The runner of turns, and the dispatcher and leases that decide which turns run here. */
function buildTurns(
  { config: { limits }, clock, logger, store, isAlone, register }: Foundations,
  { hub, running, registry }: ReturnType<typeof buildMemory>,
  assistant: Pick<TurnRunnerOptions, "models" | "caller" | "tools" | "schemas"> & {
    readonly apps: AppCatalog;
  },
) {
  const owner = randomUUID();
  const metrics = createTurnMetrics(register);
  const written = { store, registry, hub, clock, logger };
  const journals: TurnJournals = {
    open: (turn, signal, queue) => openJournal(turn, { ...written, signal, queue }),
  };
  const runner = new TurnRunner({ ...assistant, clock, limits, logger, journals, hub, metrics });
  const owned = { store: store.turns, running, clock, owner, logger, isAlone };
  const { apps } = assistant;
  const dispatcher = new Dispatcher({
    ...owned,
    commands: store,
    runner,
    apps,
    registry,
    hub,
    maxWaiting: limits.maxWaiting,
  });
  const leases = new Leases({ ...owned, onReleased: (count) => dispatcher.workArrived(count) });
  return { dispatcher, leases, owner };
}

function buildSignIn(
  { store: everything, clock, logger, signingKeys: keys = null, config: { chains } }: Foundations,
  apps: AppCatalog,
  written: { readonly registry: SessionRegistry; readonly audit: AuditTrail },
) {
  const { users: store } = everything;
  const users = new CheckedTokens({ store, clock, logger, apps, keys });
  const contracts = async () => {
    const { createContractWallets } = await import("../tools/wallet/contract-wallets.ts");
    return createContractWallets(chains, clock);
  };
  const inherit: WalletSignInOptions["inherit"] = (from, owner, walletId) =>
    inheritSessions({ store: everything, ...written }, from, { owner, walletId });
  return { users, wallets: new WalletSignIn({ store, clock, keys, users, contracts, inherit }) };
}

function buildConversations(
  { store, clock, config: { limits } }: Foundations,
  { registry, running, hub, versions }: ReturnType<typeof buildMemory>,
  used: Pick<ConversationsOptions, "dispatcher" | "titles" | "apps" | "schemas">,
): Conversations {
  const { maxQueued, sessionBytes: maxMessageBytes } = limits;
  const bounds = { maxQueued, maxMessageBytes };
  return new Conversations({ ...used, store, registry, running, clock, hub, versions, limits: bounds });
}

function buildFeed(
  { store, clock, config: { server } }: Foundations,
  hub: EventHub,
  positions: Conversations,
  cache: SessionCache,
): Feed {
  const maxStreamsPerSession = isPublic(server) ? server.rateLimits.streamsPerSession : null;
  return new Feed({ hub, events: store.events, store, clock, positions, cache, maxStreamsPerSession });
}

function slotLimitsOf({ limits, providers }: Config): SlotLimits {
  const byProvider = Object.entries(providers).flatMap(([name, { maxRunningTurns }]) =>
    maxRunningTurns === undefined ? [] : [[name, maxRunningTurns] as const],
  );
  return { total: limits.maxRunning, byProvider: Object.fromEntries(byProvider) };
}

/** Returns the providers of the model catalog. */
function providersOf(config: Config): ModelCatalogOptions["providers"] {
  const secrets = config.secrets.reveal();
  const providers = Object.entries(config.providers).map(([name, { kind, baseURL, contextWindow }]) => {
    const { apiKey = null, headers = {} } = secrets[name] ?? {};
    const provider = {
      kind,
      headers,
      ...(baseURL !== undefined && { baseURL }),
      ...(apiKey !== null && { apiKey }),
      ...(contextWindow !== undefined && { contextWindow }),
    };
    return [name, provider] as const;
  });
  return Object.fromEntries(providers);
}

interface ToolParts extends Pick<Foundations, "config" | "clock" | "logger" | "vault"> {
  readonly schemas: SchemaChecks;
}

/** Creates the tools of each App. For duplicate names, the first source in `plan` wins. */
export function createTools(
  { config, clock, logger, schemas, vault = null }: ToolParts,
  isDemo: (rig: string) => boolean,
): AppTools {
  const builtIn: Readonly<Record<string, Tool>> = builtInTools(clock);
  const outbound = createOutbound({ clock, proxies: config.proxies });
  const plan: AppToolsOptions["plan"] = (app, { tools }) => [
    planDemoTools(isDemo, tools.isUnconfigured === true),
    planOwnTools(tools.own, logger),
    fixedSource(
      "built-in tools",
      tools.builtIn.flatMap((name) => builtIn[name] ?? []),
    ),
    ...(tools.wallet === null ? [] : [fixedSource("wallet tools", createWalletTools(tools.wallet, clock))]),
    ...planClientTools(tools, schemas.of(app)),
    ...Object.entries(tools.mcp).map(([server, settings]) =>
      planMcpServer(server, settings, { clock, logger, effects: tools.effects, schemas: schemas.of(app) }),
    ),
    ...Object.entries(tools.openapi).map(([name, settings]) =>
      planOpenApi(name, settings, { clock, logger, outbound, schemas: schemas.of(app) }),
    ),
  ];
  return new AppTools(config.apps, { clock, logger, vault, plan, onClosed: () => outbound.close() });
}
