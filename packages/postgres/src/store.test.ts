import { beforeAll, describe } from "vitest";
import type { ManualClock } from "@colloquy/testing/internal/manual-clock";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { makeTemplate, usePostgres } from "../../server/test/use-postgres.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { describeFold } from "@colloquy/testing/internal/store/fold.suite";
import type { OpenedStore } from "@colloquy/testing/internal/store/fixtures/given-store";
import { describeInterrupt } from "@colloquy/testing/internal/store/interrupt.suite";
import { describeSessions } from "@colloquy/testing/internal/store/sessions.suite";
import { describeStoreContract } from "@colloquy/testing/internal/store/store-contract.suite";
import { describeTurnProgress } from "@colloquy/testing/internal/store/turn-progress.suite";
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
      | "audit"
      | "feedback"
      | "search"
      | "files",
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
    feedback: aggregate("feedback"),
    search: aggregate("search"),
    files: aggregate("files"),
    probe: () => next().probe(),
    purge: () => next().purge(),
    close: async () => {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}
