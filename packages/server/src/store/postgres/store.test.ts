import { beforeAll, describe } from "vitest";
import type { ManualClock } from "../../../test/manual-clock.ts";
import { isWithoutPostgres } from "../../../test/postgres-server.ts";
import { makeTemplate, usePostgres } from "../../../test/use-postgres.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { describeFold } from "../contract/fold.suite.ts";
import type { OpenedStore } from "../contract/testing/given-store.ts";
import { describeInterrupt } from "../contract/interrupt.suite.ts";
import { describeSessions } from "../contract/sessions.suite.ts";
import { describeStoreContract } from "../contract/store-contract.suite.ts";
import { describeTurnProgress } from "../contract/turn-progress.suite.ts";
import { openPostgresStore } from "./open.ts";

describe.skipIf(await isWithoutPostgres())("a server of its own", () => {
  const server = usePostgres();
  let template: string;
  beforeAll(async () => void (template = await makeTemplate(server)));

  async function openStore(clock: ManualClock): Promise<OpenedStore> {
    const url = server.url(await server.createDatabase(template));
    const open = () => openPostgresStore({ url, clock });
    const store = await open();
    const reopen = async () => {
      await store.close();
      return await open();
    };
    return { store, reopen, dispose: async () => undefined };
  }

  describeStoreContract("PostgreSQL", openStore);

  /** Opens several nodes and passes each call to the next one. */
  async function openNodes(clock: ManualClock): Promise<OpenedStore> {
    const url = server.url(await server.createDatabase(template));
    const nodes = await Promise.all(
      Array.from({ length: 3 }, () => openPostgresStore({ url, clock, connections: 3 })),
    );
    return { store: inRotation(nodes), reopen: null, dispose: async () => undefined };
  }

  describe("three nodes in turn", () => {
    describeSessions(openNodes);
    describeInterrupt(openNodes);
    describeTurnProgress(openNodes);
    describeFold(openNodes);
  });
});

function inRotation(nodes: readonly Store[]): Store {
  let calls = 0;
  const next = (): Store => {
    calls += 1;
    return nodes[calls % nodes.length]!;
  };
  const aggregate = <
    Name extends
      | "sessions"
      | "turns"
      | "actions"
      | "events"
      | "jobs"
      | "keys"
      | "users"
      | "secrets"
      | "admin"
      | "audit",
  >(
    name: Name,
  ): Store[Name] => new Proxy(nodes[0]![name], { get: (_of, method) => Reflect.get(next()[name], method) });
  return {
    execute: (command) => next().execute(command),
    executeEach: (selection) => next().executeEach(selection),
    sessions: aggregate("sessions"),
    turns: aggregate("turns"),
    actions: aggregate("actions"),
    events: aggregate("events"),
    jobs: aggregate("jobs"),
    keys: aggregate("keys"),
    users: aggregate("users"),
    secrets: aggregate("secrets"),
    admin: aggregate("admin"),
    audit: aggregate("audit"),
    probe: () => next().probe(),
    purge: () => next().purge(),
    close: async () => {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}
