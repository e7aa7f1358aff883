// How turns are run: the assistant, the dispatcher that starts turns here, and the leases that they are run under.

import { randomUUID } from "node:crypto";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { ModelCatalog } from "../core/ports/driven/model.ts";
import type { ToolRegistry } from "../core/ports/driven/tool.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { ServiceMetrics } from "./metrics.ts";
import type { Foundations } from "./service-parts.ts";
import type { Registry } from "../sessions/registry.ts";
import { StoredTurnJournal } from "../sessions/turn-journal.ts";
import { Dispatcher } from "../turns/dispatcher.ts";
import { Leases } from "../turns/leases.ts";
import type { ModelCaller } from "../turns/model-step.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import { createTurnRunner } from "../turns/turn-runner.ts";

/** What turns are run with. */
export interface Assistant {
  readonly apps: AppCatalog;
  readonly models: ModelCatalog;
  readonly caller: ModelCaller;
  readonly tools: ToolRegistry;
  readonly metrics: ServiceMetrics;
}

export function buildTurns(
  base: Foundations,
  { metrics, ...assistant }: Assistant,
  registry: Registry,
  running: RunningTurns,
): { readonly dispatcher: Dispatcher; readonly leases: Leases; readonly owner: string } {
  const { config, clock, logger, bus } = base;
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
    run: async (turn, signal) => {
      const following = bus.follow(turn.sessionId);
      await run(turn, signal).finally(() => following.stop());
    },
    notifyOthers: () => bus.ring(),
    isAlone: base.isAlone,
    models: () => modelsByApp(assistant.apps),
    apply: (committed) => void registry.settle(committed),
    maxWaiting: config.limits.maxWaiting,
  });
  const leases = new Leases({
    store,
    running,
    clock,
    owner,
    logger,
    isAlone: base.isAlone,
    onReleased: (count) => dispatcher.ring(count),
  });
  return { dispatcher, leases, owner };
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

function modelsByApp(apps: AppCatalog): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(apps.names().map((name) => [name, apps.get(name)?.models ?? []]));
}
