// The parts of a running service, constructed in the order of their dependencies. server.ts provides the
// foundations, and starts and stops the parts.

import { randomUUID } from "node:crypto";
import { getHeapStatistics } from "node:v8";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Registry as MetricsRegister } from "prom-client";
import { createApps } from "../apps/app-catalog.ts";
import { CheckedKeys } from "../apps/keys/checked-keys.ts";
import { CheckedTokens } from "../apps/users/user-tokens.ts";
import { WalletSignIn, type WalletSignInOptions } from "../apps/users/wallet-sign-in.ts";
import { ProcessEventHub } from "../bus/event-hub.ts";
import { Feed } from "../bus/feed.ts";
import type { EngineConfig } from "../config/engine-config.ts";
import type { FileStore } from "../core/plugins/file-store.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Bus } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SecretVault, SigningKeys } from "../core/ports/driven/secret-store.ts";
import type { SchemaChecks } from "../core/ports/driven/schema-check.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { type AuditTrail, createAuditTrail } from "../sessions/audit-trail.ts";
import { createModelCatalog, type ModelCatalogOptions, type ConfiguredModels } from "../models/catalog.ts";
import { ActionExpiry, Actions } from "../sessions/actions.ts";
import { Cleanup } from "../sessions/cleanup.ts";
import { Conversations, type ConversationsOptions } from "../sessions/conversations.ts";
import { Files } from "../sessions/files.ts";
import { inheritSessions } from "../sessions/former-owner.ts";
import { ModelChoices } from "../sessions/model-choice.ts";
import { followOtherNodes, ReplicaSync, VersionReads } from "../sessions/replica-sync.ts";
import { Search, SearchIndexing } from "../sessions/search.ts";
import { SessionCache } from "../sessions/session-cache.ts";
import { SessionRegistry } from "../sessions/session-registry.ts";
import { UserData } from "../sessions/user-data.ts";
import { Threads } from "../sessions/threads.ts";
import { Summaries } from "../sessions/summaries.ts";
import { Titles } from "../sessions/titles.ts";
import { TextCheckpoints } from "../sessions/text-checkpoints.ts";
import { StoredTurnJournals } from "../sessions/turn-journal.ts";
import { builtInTools } from "../tools/built-in/built-in-tools.ts";
import { demoToolSource } from "../tools/demo/demo-tools.ts";
import { createOutbound } from "../tools/outbound/outbound.ts";
import { ownToolSource } from "../tools/own/own-tool.ts";
import { pluginToolSource } from "../tools/plugin-source.ts";
import { fixedSource } from "../tools/tool-source.ts";
import { clientToolSources } from "../tools/client/client-tools.ts";
import { AppTools, type AppToolsOptions } from "../tools/toolset.ts";
import { createWalletTools } from "../tools/wallet/wallet-tools.ts";
import { Dispatcher } from "../turns/dispatcher.ts";
import { Leases } from "../turns/leases.ts";
import { ModelCaller } from "../turns/model-step.ts";
import { toolsNotOffered } from "../turns/offered-tools.ts";
import { RunningTurns, type SlotLimits } from "../turns/running-turns.ts";
import { TurnRunner, type TurnRunnerOptions } from "../turns/run.ts";
import { SchemaChecker } from "../schemas/schema-checker.ts";
import { generateSummary, generateTitle } from "../turns/utility-model.ts";
import { createTurnMetrics, registerGauges } from "./metrics.ts";

const DAY_MS = 24 * 60 * 60_000;

export interface Foundations {
  readonly config: EngineConfig;
  /** Maximum open event streams of a session; `null` for no limit. */
  readonly maxStreamsPerSession?: number | null;
  /** False if the threads of a wallet cannot be listed. True by default. */
  readonly walletListing?: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  /** Keeps the bytes of files. `stopService` closes it. */
  readonly fileStore: FileStore;
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
  config: EngineConfig,
  clock: Clock,
  extraModels: ModelCatalogOptions["extraModels"] = {},
  logger: Pick<Logger, "warn"> | null = null,
): ConfiguredModels {
  const { maxSteps } = config.limits;
  const onWarning = (rig: string, warning: string): void => logger?.warn({ rig }, warning);
  return createModelCatalog({ providers: providersOf(config), clock, extraModels, maxSteps, onWarning });
}

export function buildService(base: Foundations) {
  const { config, clock, logger, store, register, extraModels } = base;
  const apps = createApps(config.apps);
  const models = createModels(config, clock, extraModels, logger);
  const schemas = new SchemaChecker({ clock });
  const tools = createTools({ ...base, schemas }, models, (app) => apps.get(app)?.models ?? []);
  const caller = new ModelCaller();
  const memory = buildMemory(base, apps);
  const { hub, running, cache, registry } = memory;
  const files = new Files({
    store,
    files: base.fileStore,
    registry,
    clock,
    logger,
    limits: config.limits,
  });
  const metrics = createTurnMetrics(register);
  const summaries = new Summaries({
    store,
    registry,
    apps,
    clock,
    logger,
    models,
    metrics,
    generate: (request) => generateSummary(models, caller, request),
  });
  const onSummaryDue = (): void => void summaries.lookForDue();
  const { dispatcher, leases, owner } = buildTurns(base, memory, {
    metrics,
    onSummaryDue,
    apps,
    models,
    caller,
    tools,
    schemas,
    files,
  });
  const titles = new Titles({
    store,
    registry,
    apps,
    clock,
    logger,
    isDemo: (rig) => models.isDemo(rig),
    generate: (rig, message, signal) => generateTitle(models, caller, { rig, message, signal }),
    failureCode: (error) => models.describeFailure(error).code,
  });
  const conversations = buildConversations(base, memory, { dispatcher, titles, apps, schemas });
  const asking = { store, registry, dispatcher };
  const threads = new Threads({
    ...asking,
    walletListing: base.walletListing !== false,
    maxMessageBytes: config.limits.sessionBytes,
  });
  const audit = createAuditTrail({ store: store.audit, logger });
  const feed = buildFeed(base, hub, conversations, cache);
  followOtherNodes({ hub, registry, cache, running, dispatcher });
  const { events: keepCount, eventMs: keepMs, auditDays } = config.retention;
  const kept = { events: { keepCount, keepMs }, auditMs: auditDays * DAY_MS };
  const cleanup = new Cleanup({ store, registry, dispatcher, clock, logger, apps, files, ...kept });
  const gauges = gaugesOf({ running, dispatcher, cache, feed });
  registerGauges(register, gauges);
  const searchIndexing = new SearchIndexing({ store, clock, logger });
  const workers = {
    hub,
    registry,
    dispatcher,
    leases,
    titles,
    summaries,
    cleanup,
    searchIndexing,
    tools,
    schemas,
  };
  return {
    ...workers,
    conversations,
    threads,
    search: new Search(store),
    files,
    models: new ModelChoices(store, registry, apps),
    actions: new Actions({ ...asking, results: tools }),
    actionExpiry: new ActionExpiry({ ...asking, clock, logger }),
    apps,
    keys: new CheckedKeys({ store: store.keys, clock, apps }),
    ...buildSignIn(base, apps, { registry, audit }),
    audit,
    userData: new UserData({ store, threads, files, audit, clock, logger }),
    feed,
    gauges,
    /** Identifies this process as the owner of turns. */
    owner,
    fileStore: base.fileStore,
    /** Makes requests and streams read the store again. */
    dropMemory(): void {
      registry.invalidateAll();
      feed.restartStreams();
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

/** Largest share of Node's heap for snapshots. A live session takes about three times the bytes of its snapshot. */
const SNAPSHOT_SHARE = 1 / 8;

/** The event hub, the turns that run here, and the sessions in memory. */
function buildMemory({ config, clock, logger, store, bus, isAlone }: Foundations, apps: AppCatalog) {
  const { events, sessions } = store;
  const versions = isAlone ? null : new VersionReads(sessions);
  const hub = new ProcessEventHub({ bus, clock, logger, versions });
  const running = new RunningTurns(slotLimitsOf(config));
  const { memoryBytes, idleMemoryMs: idleMs } = config.limits;
  const budgetBytes = Math.min(memoryBytes, getHeapStatistics().heap_size_limit * SNAPSHOT_SHARE);
  const cache = new SessionCache({ budgetBytes, idleMs, clock, running, hub, logger });
  const sync = versions === null ? null : new ReplicaSync({ versions, events, sessions, running });
  const registry = new SessionRegistry({ store, hub, clock, logger, cache, sync, running, apps });
  return { versions, hub, running, cache, registry };
}

/** The runner of turns, and the dispatcher and leases that decide which turns run here. */
function buildTurns(
  { config: { limits }, clock, logger, store, isAlone }: Foundations,
  { hub, running, registry }: ReturnType<typeof buildMemory>,
  assistant: Pick<
    TurnRunnerOptions,
    "models" | "caller" | "tools" | "schemas" | "files" | "metrics" | "onSummaryDue"
  > & {
    readonly apps: AppCatalog;
  },
) {
  const owner = randomUUID();
  const checkpoints = new TextCheckpoints({ store: store.turns, clock, logger });
  const journals = new StoredTurnJournals({ store, registry, hub, clock, checkpoints, logger });
  const runner = new TurnRunner({ ...assistant, clock, limits, logger, journals, hub });
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
  { store, clock, maxStreamsPerSession = null }: Foundations,
  hub: EventHub,
  positions: Conversations,
  cache: SessionCache,
): Feed {
  return new Feed({ hub, events: store.events, store, clock, positions, cache, maxStreamsPerSession });
}

function slotLimitsOf({ limits, providers }: EngineConfig): SlotLimits {
  const byProvider = Object.entries(providers).flatMap(([name, { maxRunningTurns }]) =>
    maxRunningTurns === undefined ? [] : [[name, maxRunningTurns] as const],
  );
  return { total: limits.maxRunning, byProvider: Object.fromEntries(byProvider) };
}

/** Returns the providers of the model catalog. */
function providersOf(config: EngineConfig): ModelCatalogOptions["providers"] {
  const secrets = config.secrets.reveal();
  const providers = Object.entries(config.providers).map(([name, { maxRunningTurns: _, ...settings }]) => {
    const { apiKey = null, headers = {} } = secrets[name] ?? {};
    return [name, { ...settings, headers, ...(apiKey !== null && { apiKey }) }] as const;
  });
  return Object.fromEntries(providers);
}

interface ToolParts extends Pick<Foundations, "config" | "clock" | "logger" | "vault"> {
  readonly schemas: SchemaChecks;
}

/** Creates the tools of each App. For duplicate names, the first source in `plan` wins. */
export function createTools(
  { config, clock, logger, schemas, vault = null }: ToolParts,
  models: Pick<ConfiguredModels, "isDemo" | "toolRules">,
  rigsOf: (app: string) => readonly string[] = (app) => config.apps[app]?.models ?? [],
): AppTools {
  const builtIn: Readonly<Record<string, Tool>> = builtInTools(clock);
  const outbound = createOutbound({ clock, proxies: config.proxies });
  const { guardedFetch } = outbound;
  const plan: AppToolsOptions["plan"] = (app, { tools }) => [
    demoToolSource((rig) => models.isDemo(rig), tools.isUnconfigured === true),
    ownToolSource(tools.own, logger),
    fixedSource(
      "built-in tools",
      tools.builtIn.flatMap((name) => builtIn[name] ?? []),
    ),
    ...(tools.wallet === null ? [] : [fixedSource("wallet tools", createWalletTools(tools.wallet, clock))]),
    ...clientToolSources(tools, schemas.of(app)),
    ...tools.sources.map((source) =>
      pluginToolSource(source, { app, clock, logger, guardedFetch, schemas: schemas.of(app) }),
    ),
  ];
  const notOffered: AppToolsOptions["notOffered"] = (app, tools) =>
    toolsNotOffered(tools, rigsOf(app), (rig) => models.toolRules(rig));
  return new AppTools(config.apps, {
    clock,
    logger,
    vault,
    plan,
    notOffered,
    onClosed: () => outbound.close(),
  });
}

/** Recovers from a crash, then runs turns. */
export async function startService(service: Service): Promise<void> {
  const { leases, actionExpiry, searchIndexing, dispatcher, tools } = service;
  leases.start();
  actionExpiry.start();
  searchIndexing.start();
  await dispatcher.start();
  tools.listAll();
}

/** Stops the workers, then their dependencies. Requests still get responses. */
export async function stopService(service: Service, graceMs: number): Promise<void> {
  service.titles.stop();
  service.summaries.stop();
  service.feed.stop();
  await service.dispatcher.stop(graceMs);
  service.conversations.stopWaiting();
  service.leases.stop();
  service.registry.stop();
  await service.cleanup.stop();
  await service.searchIndexing.stop();
  await service.actionExpiry.stop();
  await service.tools.close();
  await service.schemas.close();
  await service.hub.close();
  await service.fileStore.close();
}
