// The parts of a running service and how they are joined; server.ts gives them their foundations and their life.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Registry as MetricsRegister } from "prom-client";
import { createApps } from "../apps/app-catalog.ts";
import { CheckedKeys } from "../apps/keys/checked-keys.ts";
import { createModels, createTools, providersOf } from "./assistant.ts";
import { Feed } from "../bus/feed.ts";
import type { Config } from "../config/config.ts";
import { restartWarnings } from "../config/restart.ts";
import { isPublic } from "../core/loopback.ts";
import type { ProcessGauges } from "../core/ports/driven/process-gauges.ts";
import type { AppKeys } from "../core/ports/driving/app-keys.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import type { Bus } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ActionService } from "../core/ports/driving/services.ts";
import type { SecretVault } from "../core/ports/driven/secret-vault.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { createOtherProcesses } from "./other-processes.ts";
import { listenToOtherNodes } from "../sessions/other-nodes.ts";
import { createServiceMetrics } from "./metrics.ts";
import { ActionExpiry } from "../sessions/action-expiry.ts";
import { Actions } from "../sessions/actions.ts";
import { Cleanup } from "../sessions/cleanup.ts";
import { Conversations } from "../sessions/conversations.ts";
import { Registry } from "../sessions/registry.ts";
import type { Session } from "../sessions/session.ts";
import { SessionCache } from "../sessions/session-cache.ts";
import { ModelChoices } from "../sessions/model-choice.ts";
import { Threads } from "../sessions/threads.ts";
import { Titles } from "../sessions/titles.ts";
import type { AppTools } from "../tools/registry.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { Leases } from "../turns/leases.ts";
import { ModelCaller } from "../turns/model-step.ts";
import { buildTurns, type Assistant } from "./turn-parts.ts";
import { RunningTurns, type SlotLimits } from "../turns/running-turns.ts";
import { generateTitle } from "../turns/utility-model.ts";

export interface Foundations {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  readonly bus: Bus;
  readonly register: MetricsRegister;
  /** Whether no other process uses the store. */
  readonly isAlone: boolean;
  /** Models by rig, beside the configured ones. */
  readonly extraModels: Readonly<Record<string, LanguageModelV4>>;
  /** Absent where no secrets are kept. */
  readonly vault?: SecretVault;
}

export interface ServiceParts {
  readonly conversations: Conversations;
  readonly threads: Threads;
  readonly models: ModelChoices;
  readonly actions: ActionService;
  readonly apps: AppCatalog;
  readonly keys: AppKeys;
  readonly feed: Feed;
  readonly bus: Bus;
  readonly registry: Registry;
  readonly dispatcher: Dispatcher;
  readonly leases: Leases;
  readonly titles: Titles;
  readonly cleanup: Cleanup;
  readonly actionExpiry: ActionExpiry;
  readonly tools: AppTools;
  readonly gauges: ProcessGauges;
  /** Under which this process owns turns. */
  readonly owner: string;
  /** Answers whoever waits for a session to stop processing (`Prefer: wait`) with what there is. */
  stopWaiting(): void;
  /** Replaces Apps, models and tools as a whole; what runs goes on with what it has. Answers warnings about what takes a restart. */
  reload(config: Config): readonly string[];
}

export function buildParts(base: Foundations): ServiceParts {
  const { config, clock, logger, store, isAlone } = base;
  const apps = createApps(config.apps);
  const models = createModels(config, clock, base.extraModels);
  const caller = new ModelCaller();
  const running = new RunningTurns(slotLimitsOf(config));
  const cache = buildCache(base, running, ({ id }) => feed.release(id));
  const isWorkedOn = ({ key }: Session): boolean => running.isRunning(key);
  const incarnations = (id: string): string[] =>
    [...feed.incarnationsOf(id), cache.peek(id)?.life ?? []].flat();
  const supersede = ({ key }: Session, epoch: number): void => running.supersede(key, epoch);
  const { bus, versions, catchUp } = createOtherProcesses({ ...base, isWorkedOn, supersede, incarnations });
  const registry = new Registry({
    store: store.sessions,
    bus,
    clock,
    cache,
    logger,
    catchUp,
    defaultModel: () => defaultApp(apps).models[0],
    // The registry tells the dispatcher of every commit, and the dispatcher settles its claims through the registry.
    onCommitted: (session) => dispatcher.supersede(session),
    onAnswerLoaded: (session, streaming) => {
      // What streams elsewhere is read by those who have readers for it.
      if (isAlone || isWorkedOn(session)) feed.recover(session, streaming);
    },
  });
  const gauges: ProcessGauges & { waitingTurns(): number } = {
    runningTurns: () => running.size,
    waitingTurns: () => dispatcher.waiting,
    liveSessions: () => cache.size,
    snapshotBytes: () => cache.weight,
    openStreams: () => feed.openStreams,
  };
  const metrics = createServiceMetrics(base.register, gauges);
  const tools = createTools(config, { clock, logger, vault: base.vault ?? null });
  const assistant: Assistant = { apps, models, caller, tools, metrics };
  const foundations = { ...base, bus };
  const { dispatcher, leases, owner } = buildTurns(foundations, assistant, registry, running);
  const titles = buildTitles(foundations, assistant, registry);
  const { maxQueued, sessionBytes: maxMessageBytes } = config.limits;
  const used = { store, registry, dispatcher, running, titles, apps, clock, bus, versions };
  const conversations = new Conversations({ ...used, limits: { maxQueued, maxMessageBytes } });
  const feed = buildFeed(foundations, conversations, (id) => cache.peek(id) !== undefined);
  listenToOtherNodes({ bus, registry, running, dispatcher });
  const events = { keepCount: config.retention.events, keepMs: config.retention.eventMs };
  const cleanup = new Cleanup({ store, registry, dispatcher, clock, logger, apps, events });
  const asking = { store: store.actions, registry, dispatcher };
  const actions = new Actions(asking);
  const actionExpiry = new ActionExpiry({ ...asking, clock, logger });
  const walletListing = config.server.walletListing === "on";
  const threads = new Threads({ store, registry, dispatcher, walletListing });
  const choices = new ModelChoices(store, registry, apps);
  const keys = new CheckedKeys({ store: store.keys, clock, apps });
  const stopWaiting = (): void => conversations.stopWaiting();
  const reload = createReload(config, { tools, apps, models });
  const services = {
    conversations,
    threads,
    models: choices,
    actions,
    apps,
    keys,
    feed,
    reload,
    stopWaiting,
  };
  const workers = { registry, dispatcher, leases, titles, cleanup, actionExpiry, tools };
  return { ...services, ...workers, bus, gauges, owner };
}

/** How a configuration that was read again takes the place of the one the service was started with. */
function createReload(
  config: Config,
  parts: {
    readonly tools: AppTools;
    readonly apps: ReturnType<typeof createApps>;
    readonly models: ReturnType<typeof createModels>;
  },
): ServiceParts["reload"] {
  return (next) => {
    // First what might refuse: then nothing is replaced.
    parts.tools.replace(next.apps);
    parts.apps.replace(next.apps);
    parts.models.replace(providersOf(next));
    return restartWarnings(config, next);
  };
}

function buildTitles(
  { store, clock, logger }: Foundations,
  { apps, models, caller }: Assistant,
  registry: Registry,
): Titles {
  return new Titles({
    jobs: store.jobs,
    registry,
    apps,
    clock,
    logger,
    generate: (rig, message, signal) => generateTitle(models, caller, { rig, message, signal }),
    failureCode: (error) => models.describeFailure(error).code,
  });
}

function buildFeed(
  { bus, store, clock, config }: Foundations,
  conversations: Conversations,
  isInMemory: (sessionId: string) => boolean,
): Feed {
  return new Feed({
    bus,
    events: store.events,
    clock,
    ensure: (sessionId, admit) => conversations.ensurePosition(sessionId, admit),
    read: (sessionId) => conversations.position(sessionId),
    isInMemory,
    touch: (used) => store.sessions.touch(used),
    maxStreamsPerSession: isPublic(config.server) ? config.server.rateLimits.streamsPerSession : null,
  });
}

function buildCache(
  { config, clock }: Foundations,
  running: RunningTurns,
  onLeft: (session: Session) => void,
): SessionCache {
  const { memoryBytes, idleMemoryMs } = config.limits;
  const isWorkedOn = ({ key }: Session): boolean => running.isRunning(key);
  return new SessionCache(memoryBytes, idleMemoryMs, () => clock.monotonic(), isWorkedOn, onLeft);
}

function slotLimitsOf({ limits, providers }: Config): SlotLimits {
  const byProvider = Object.entries(providers).flatMap(([name, { maxRunningTurns }]) =>
    maxRunningTurns === undefined ? [] : [[name, maxRunningTurns] as const],
  );
  return { total: limits.maxRunning, byProvider: Object.fromEntries(byProvider) };
}

function defaultApp(apps: AppCatalog): AppDefinition {
  const app = apps.get(DEFAULT_APP);
  if (app === null) throw new Error("The default App is missing from the catalog");
  return app;
}
