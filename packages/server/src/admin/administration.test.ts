import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BeforeCall } from "../../test/intercepted-store.ts";
import { newId, startService, type TestService } from "../../test/service.ts";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { AdminService } from "./administration.ts";
import { createReadiness } from "./readiness.ts";
import { buildAdmin } from "../wiring/server.ts";
import { readHandles } from "@colloquy/engine/internal/wiring/storage";

let service: TestService;
let admin: AdminService;
let before: BeforeCall;
let id: string;
beforeEach(async () => {
  before = () => undefined;
  service = await startService({ beforeCall: (method, parameters) => before(method, parameters) });
  const { store, clock, config } = service;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const built = buildAdmin({
    config: { ...config, adminKey: new Hidden("administration-test-key-0123456789") },
    handles: await readHandles(store),
    storage: { store, busServer: { kind: "in-process", check: null } },
    service,
    readiness: createReadiness({ store, isAlone: true, clock, logger }),
    clock,
    logger,
  });
  admin = built!.service;
  id = newId();
  await service.say(id, "one");
  await service.model.next();
});
afterEach(() => service.close());

describe("an operator's interrupt", () => {
  it("stops the running turn, whether or not its session is in memory", async () => {
    expect(await admin.interrupt(id)).toMatchObject({ status: "idle", turn: { state: "interrupted" } });
    expect(await service.snapshot(id)).toMatchObject({ is_processing: false, status: "interrupted" });
    await service.evict();
    expect(service.registry.inMemory(id)).toBeNull();
    expect(await admin.interrupt(id)).toMatchObject({ status: "idle", turn: { state: "interrupted" } });
  });

  it.each([true, false])(
    "creates nothing if the session is deleted during the call (in memory: %s)",
    async (isResident) => {
      const deleted = Promise.withResolvers<void>();
      before = (method) => {
        if (method !== "interrupt") return undefined;
        before = () => undefined;
        const removed = isResident
          ? service.store.execute({
              kind: "delete",
              target: { session: id, birth: null, load: false, access: null },
              input: null,
            })
          : service.threads.remove(id, null);
        void removed.then(() => deleted.resolve());
        return deleted.promise;
      };
      await expect(admin.interrupt(id)).rejects.toMatchObject({ status: 404 });
      await deleted.promise;
      expect(await service.store.sessions.find(id)).toBeNull();
    },
  );
});
