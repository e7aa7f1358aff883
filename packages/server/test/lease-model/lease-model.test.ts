// docs/adr/0018 explains which behaviour the exploration covers.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Replacement } from "../../torture/plants.ts";
import { DatabaseDecisions } from "./database.ts";
import { explore, type Exploration } from "./explore.ts";
import { leaseModel, type LeaseModelOptions } from "./lease-model.ts";
import { tryOwnerClock, UNRELIABLE } from "./owner-clock.ts";
import { loadPlantedCode } from "./planted-code.ts";
import { loadServiceCode, type ServiceCode } from "./service-code.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..", "..");
const SOURCES = join(ROOT, "packages", "engine", "src");
const MODULES = join(ROOT, "node_modules");

type Options = Partial<Omit<LeaseModelOptions, "decisions">>;

async function exploreCode(code: ServiceCode, options: Options = {}): Promise<Exploration> {
  const decisions = new DatabaseDecisions(code);
  return explore(leaseModel({ decisions, clock: await tryOwnerClock(code), orphans: 2, ...options }));
}

async function exploreSources(options: Options = {}): Promise<Exploration> {
  return await exploreCode(await loadServiceCode(SOURCES), options);
}

async function explorePlanted(planted: Replacement): Promise<Exploration> {
  return await exploreCode(await loadPlantedCode(SOURCES, MODULES, planted));
}

describe("the protocol of leases and epochs", () => {
  it("satisfies its properties in every order of steps, pauses, crashes and takeovers", async () => {
    const { states, broken, stuck } = await exploreSources();
    expect(broken).toBeNull();
    expect(stuck).toBeNull();
    expect(states).toBeGreaterThan(100_000);
  });

  it("lets no former owner write, whatever the nodes' clocks show", async () => {
    const { broken, stuck } = await exploreSources({ clock: UNRELIABLE });
    expect(broken).toBeNull();
    expect(stuck).toBeNull();
  });
});

describe("detects a planted fault:", () => {
  it("writes without an epoch check", async () => {
    const { broken } = await explorePlanted({
      file: "core/commands/command.ts",
      text: "return session.key === identity.sessionKey && session.epoch === identity.epoch;",
      by: "return session.key === identity.sessionKey;",
    });
    expect(broken?.what).toBe("a step of an old epoch was committed");
    expect(broken?.path).toContain("the lease is swept");
  });

  it("writes without a lease check", async () => {
    const { broken } = await explorePlanted({
      file: "core/commands/command.ts",
      text: "lease !== null && lease.expiresAt > at",
      by: "lease !== null",
    });
    expect(broken?.what).toBe("a step was committed under a lease that had run out");
  });

  it("a claim that takes over a turn without a new epoch", async () => {
    const { broken } = await explorePlanted({
      file: "core/commands/turns.ts",
      text: "const epoch = draft.raiseEpoch();",
      by: "const epoch = draft.session.epoch;",
    });
    expect(broken?.what).toBe("a step was committed by another than the epoch's owner");
  });

  it("owners that trust a lease for too long", async () => {
    const { broken } = await explorePlanted({
      file: "turns/leases.ts",
      text: "export const HOLD_MS = 8_000;",
      by: "export const HOLD_MS = 12_000;",
    });
    expect(broken?.what).toMatch(/^. still trusts a lease that it no longer has$/);
  });

  it("a renewal whose time counts from its response", async () => {
    const { broken } = await explorePlanted({
      file: "turns/leases.ts",
      text: "turn.heldUntil = renewedAt + HOLD_MS;",
      by: "turn.heldUntil = clock.monotonic() + HOLD_MS;",
    });
    expect(broken?.what).toMatch(/still trusts/);
    expect(broken?.path.at(-1)).toMatch(/hears that its lease is renewed|time passes/);
  });

  it("a claim whose time counts from its response", async () => {
    const { broken } = await explorePlanted({
      file: "turns/dispatcher.ts",
      text: "heldUntil: claimedAt + HOLD_MS }",
      by: "heldUntil: this.#options.clock.monotonic() + HOLD_MS + 0 * claimedAt }",
    });
    expect(broken?.what).toMatch(/still trusts/);
  });

  it("owners that ignore their clock", async () => {
    const { broken } = await explorePlanted({
      file: "turns/leases.ts",
      text: "if (heldUntil > now || controller.signal.aborted) continue;",
      by: "if (heldUntil > now - Number.POSITIVE_INFINITY || controller.signal.aborted) continue;",
    });
    expect(broken?.what).toMatch(/still trusts/);
  });

  it("a sweep on the clock of a node that is ahead of the database's", async () => {
    const { broken } = await exploreSources({ sweepAhead: 2 });
    expect(broken?.what).toMatch(/still trusts/);
    expect(broken?.path).toContain("the lease is swept");
  });
});
