// The parts of a running service and how they are joined; server.ts gives them their foundations and their life.

import { randomUUID } from "node:crypto";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Registry as MetricsRegister } from "prom-client";
import { createApps } from "./apps/app-catalog.ts";
import { CheckedKeys } from "./apps/keys/checked-keys.ts";
import { createModels, createTools, providersOf } from "./assistant.ts";
import { Feed } from "./bus/feed.ts";
import type { Config } from "./config/config.ts";
import { restartWarnings } from "./config/restart.ts";
import type { AppKeys } from "./core/ports/app-keys.ts";
import type { AppCatalog, AppDefinition } from "./core/ports/apps.ts";
import type { Bus } from "./core/ports/bus.ts";
import type { Clock } from "./core/ports/clock.ts";
import type { Logger } from "./core/ports/logger.ts";
import type { ModelCatalog } from "./core/ports/model.ts";
import type { ActionService, ConversationService } from "./core/ports/services.ts";
import type { SecretVault } from "./core/ports/secret-vault.ts";
import type { Store } from "./core/ports/store.ts";
import type { ToolRegistry } from "./core/ports/tool.ts";
import { DEFAULT_APP } from "./core/session.ts";
import type { StartedTurn } from "./core/turn.ts";
import { joinServices } from "./joined-services.ts";
import { createServiceMetrics, type ServiceMetrics } from "./metrics.ts";
import { ActionExpiry } from "./sessions/action-expiry.ts";
import { Actions } from "./sessions/actions.ts";
import { Cleanup } from "./sessions/cleanup.ts";
import { Conversations } from "./sessions/conversations.ts";
import { Registry } from "./sessions/registry.ts";
import type { Session } from "./sessions/session.ts";
import { SessionCache } from "./sessions/session-cache.ts";
import { Titles } from "./sessions/titles.ts";
import { StoredTurnJournal } from "./sessions/turn-journal.ts";
import type { AppTools } from "./tools/registry.ts";
import { Dispatcher } from "./turns/dispatcher.ts";
import { Leases } from "./turns/leases.ts";
import { ModelCaller } from "./turns/model-step.ts";
import { RunningTurns, type Places } from "./turns/running-turns.ts";
import { createTurnRunner } from "./turns/turn-runner.ts";
import { generateTitle } from "./turns/utility-model.ts";

/** Streams that one session may have open beyond a loopback bind (contract section 6). */
const MAX_STREAMS_PER_SESSION = 10;

export interface Foundations {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  readonly bus: Bus;
  readonly register: MetricsRegister;
  /** Models by rig, beside the configured ones. */
  readonly extraModels: Readonly<Record<string, LanguageModelV4>>;
  /** Absent where no secrets are kept. */
  readonly vault?: SecretVault;
}

export interface ServiceParts {
  readonly conversations: ConversationService;
  readonly actions: ActionService;
  readonly apps: AppCatalog;
  readonly keys: AppKeys;
  readonly feed: Feed;
  readonly registry: Registry;
  readonly dispatcher: Dispatcher;
  readonly leases: Leases;
  readonly titles: Titles;
  readonly cleanup: Cleanup;
  readonly actionExpiry: ActionExpiry;
  readonly tools: AppTools;
  /** Answers whoever waits for a session to stop processing (`Prefer: wait`) with what there is. */
  stopWaiting(): void;
  /** Replaces Apps, models and tools as a whole; what runs goes on with what it has. Answers warnings about what takes a restart. */
  reload(config: Config): readonly string[];
}

export function buildParts(base: Foundations): ServiceParts {
  const { config, clock, logger, store, bus } = base;
  const apps = createApps(config.apps);
  const models = createModels(config, clock, base.extraModels);
  const caller = new ModelCaller();
  const running = new RunningTurns(placesOf(config));
  const cache = buildCache(base, running, ({ id }) => feed.release(id));
  const registry = new Registry({
    store: store.sessions,
    bus,
    clock,
    cache,
    logger,
    defaultModel: () => defaultApp(apps).models[0],
    // The registry tells the dispatcher of every commit, and the dispatcher settles its claims through the registry.
    onCommitted: (session) => dispatcher.supersede(session),
    onAnswerLoaded: ({ id, life }, streaming) => feed.recover(id, life, streaming),
  });
  const metrics = createServiceMetrics(base.register, {
    runningTurns: () => running.size,
    waitingTurns: () => dispatcher.waiting,
    liveSessions: () => cache.size,
    snapshotBytes: () => cache.weight,
    openStreams: () => feed.openStreams,
  });
  const tools = createTools(config, { clock, logger, vault: base.vault ?? null });
  const assistant: Assistant = { apps, models, caller, tools, metrics };
  const { dispatcher, leases } = buildTurns(base, assistant, registry, running);
  const titles = new Titles({
    jobs: store.jobs,
    registry,
    apps,
    clock,
    logger,
    generate: (rig, message, signal) => generateTitle(models, caller, { rig, message, signal }),
    failureCode: (error) => models.describeFailure(error).code,
  });
  const { maxQueued } = config.limits;
  const single = new Conversations({ store, registry, dispatcher, running, titles, apps, clock, maxQueued });
  const feed = buildFeed(base, single);
  const events = { keepCount: config.retention.events, keepMs: config.retention.eventMs };
  const cleanup = new Cleanup({ store, registry, dispatcher, clock, logger, apps, events });
  const asking = { store: store.actions, registry, dispatcher };
  const actions = new Actions(asking);
  const actionExpiry = new ActionExpiry({ ...asking, clock, logger });
  const conversations = joinServices({ config, store, single, registry, dispatcher, apps });
  const keys = new CheckedKeys({ store: store.keys, clock, apps });
  const stopWaiting = (): void => single.stopWaiting();
  const reload = (next: Config): readonly string[] => {
    // First what might refuse: then nothing is replaced.
    tools.replace(next.apps);
    apps.replace(next.apps);
    models.replace(providersOf(next));
    return restartWarnings(config, next);
  };
  const services = { conversations, actions, apps, keys, feed, reload, stopWaiting };
  return { ...services, registry, dispatcher, leases, titles, cleanup, actionExpiry, tools };
}

/** What turns are run with. */
interface Assistant {
  readonly apps: AppCatalog;
  readonly models: ModelCatalog;
  readonly caller: ModelCaller;
  readonly tools: ToolRegistry;
  readonly metrics: ServiceMetrics;
}

function buildTurns(
  base: Foundations,
  { metrics, ...assistant }: Assistant,
  registry: Registry,
  running: RunningTurns,
): { readonly dispatcher: Dispatcher; readonly leases: Leases } {
  const { config, clock, logger } = base;
  const store = base.store.turns;
  const owner = randomUUID();
  const run = createTurnRunner({
    ...assistant,
    clock,
    logger,
    limits: config.limits,
    openJournal: (turn, signal) =>
      openJournal(base, registry, turn, signal, (arrived) => dispatcher.ring(arrived)),
    onEnd: (end) => metrics.turnEnded(end),
    onUsage: (usage) => metrics.tokensUsed(usage),
  });
  const dispatcher = new Dispatcher({
    store,
    running,
    clock,
    owner,
    logger,
    run,
    models: () => modelsByApp(assistant.apps),
    settle: (committed) => void registry.settle(committed),
    maxWaiting: config.limits.maxWaiting,
  });
  const leases = new Leases({
    store,
    running,
    clock,
    owner,
    logger,
    onReleased: (count) => dispatcher.ring(count),
  });
  return { dispatcher, leases };
}

function buildFeed({ bus, store, clock, config }: Foundations, conversations: Conversations): Feed {
  return new Feed({
    bus,
    events: store.events,
    clock,
    ensure: (sessionId, admit) => conversations.ensure(sessionId, admit),
    touch: (used) => store.sessions.touch(used),
    maxStreamsPerSession: config.server.loopback ? null : MAX_STREAMS_PER_SESSION,
  });
}

async function openJournal(
  { store, bus, clock, logger }: Foundations,
  registry: Registry,
  turn: StartedTurn,
  signal: AbortSignal,
  onMore: (arrived: number) => void,
): Promise<StoredTurnJournal> {
  const options = { store: store.turns, registry, bus, clock, logger, signal, onMore };
  const journal = new StoredTurnJournal(turn, options);
  await journal.open();
  return journal;
}

function buildCache(
  { config, clock }: Foundations,
  running: RunningTurns,
  onLeft: (session: Session) => void,
): SessionCache {
  const { memoryBytes, idleMemoryMs } = config.limits;
  const isWorkedOn = ({ key }: Session): boolean => running.ofSession(key) !== null;
  return new SessionCache(memoryBytes, idleMemoryMs, () => clock.monotonic(), isWorkedOn, onLeft);
}

function placesOf({ limits, providers }: Config): Places {
  const byProvider = Object.entries(providers).flatMap(([name, { maxRunningTurns }]) =>
    maxRunningTurns === undefined ? [] : [[name, maxRunningTurns] as const],
  );
  return { total: limits.maxRunning, byProvider: Object.fromEntries(byProvider) };
}

function modelsByApp(apps: AppCatalog): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(apps.names().map((name) => [name, apps.get(name)?.models ?? []]));
}

function defaultApp(apps: AppCatalog): AppDefinition {
  const app = apps.get(DEFAULT_APP);
  if (app === null) throw new Error("The default App is missing from the catalog");
  return app;
}
