import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LEASE_MS } from "@colloquy/engine/internal/core/turn";
import { createRandom } from "../harness/random.ts";
import type { LinkName } from "./cluster.ts";
import {
  COMMIT_FAULT,
  LINK_FAULTS,
  NODE_FAULTS,
  planFaults,
  SERVER_FAULTS,
  type Fault,
} from "./fault-plan.ts";

const ALL: readonly LinkName[] = ["clients", "database", "bus"];
const WITHOUT_BUS: readonly LinkName[] = ["clients", "database"];
const CI = join(import.meta.dirname, "../../../../scripts/test-all");

/** Returns the kind of a fault, with the affected link. */
const nameOf = (fault: Fault): string => ("link" in fault ? `${fault.kind} ${fault.link}` : fault.kind);
/** Returns the names of all faults for nodes with these links. */
const everything = (links: readonly LinkName[]): string[] => [
  ...NODE_FAULTS,
  ...SERVER_FAULTS.filter((kind) => kind !== "restart bus" || links.includes("bus")),
  ...links.flatMap((link) => LINK_FAULTS.map((kind) => `${kind} ${link}`)),
  `${COMMIT_FAULT} database`,
];
const lengthsOf = (kind: Fault["kind"], plan: readonly Fault[]): number[] =>
  plan.filter((fault) => fault.kind === kind).map(({ ms }) => ms);

describe("a plan of faults", () => {
  it("contains every kind of fault for every node and link", () => {
    const plan = planFaults(2_000, 3, ALL, createRandom(1));
    const seen = new Set(
      plan.map((fault) =>
        [fault.kind, "node" in fault && fault.node, "link" in fault && fault.link].join(" "),
      ),
    );
    const nodeFaults = NODE_FAULTS.length * 3;
    const linkFaults = LINK_FAULTS.length * 3 * ALL.length;
    const commitFaults = 3;
    expect(seen.size).toBe(nodeFaults + linkFaults + commitFaults + SERVER_FAULTS.length);
  });

  it.each([
    ["with a bus", ALL, 30],
    ["without a bus", WITHOUT_BUS, 23],
  ] as const)("contains every fault in each full round, %s", (_name, links, deck) => {
    for (let seed = 0; seed < 50; seed += 1) {
      const plan = planFaults(deck * 2, 3, links, createRandom(seed));
      for (const part of [plan.slice(0, deck), plan.slice(deck)]) {
        const names = part.map(nameOf);
        expect(new Set(names)).toEqual(new Set(everything(links)));
        const onLinks = names.filter((_name, n) => "link" in part[n]!);
        expect(new Set(onLinks).size).toBe(onLinks.length);
        expect(Math.max(...lengthsOf("pause", part))).toBeGreaterThan(LEASE_MS);
      }
    }
  });

  it("contains every fault in fifteen without a bus, and every fault of the bus in fifteen with one", () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const without = planFaults(15, 3, WITHOUT_BUS, createRandom(seed)).map(nameOf);
      expect(new Set(without)).toEqual(new Set(everything(WITHOUT_BUS)));
      const names = planFaults(15, 3, ALL, createRandom(seed)).map(nameOf);
      expect(names).toEqual(expect.arrayContaining([...NODE_FAULTS, ...SERVER_FAULTS]));
      expect(names).toEqual(expect.arrayContaining(LINK_FAULTS.map((kind) => `${kind} bus`)));
    }
  });

  it("is the same for the same seed", () => {
    expect(planFaults(50, 3, ALL, createRandom("x"))).toEqual(planFaults(50, 3, ALL, createRandom("x")));
    expect(planFaults(50, 3, ALL, createRandom("x"))).not.toEqual(planFaults(50, 3, ALL, createRandom("y")));
  });

  it("contains no bus faults without a bus", () => {
    const plan = planFaults(500, 3, WITHOUT_BUS, createRandom(1));
    expect(plan.filter((fault) => fault.kind === "restart bus")).toEqual([]);
    expect(plan.filter((fault) => "link" in fault && fault.link === "bus")).toEqual([]);
  });

  it("pauses nodes for one second to a minute, which may exceed a lease", () => {
    const lengths = lengthsOf("pause", planFaults(1_000, 3, ALL, createRandom(1)));
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(60_000);
    expect(lengths.filter((ms) => ms > LEASE_MS).length).toBeGreaterThan(lengths.length / 4);
  });
});

/** CI's runs, with their seeds and counts. */
const CI_RUNS = [
  ...readFileSync(CI, "utf8").matchAll(
    /npm run torture -- --nodes (\d+) --faults (\d+) --seed (\w+) --bus (\w+)/g,
  ),
].map(([, nodes, faults, seed = "", bus = ""]) => {
  const links = bus === "nats" ? ALL : WITHOUT_BUS;
  const plan = planFaults(Number(faults), Number(nodes), links, createRandom(seed).fork("plan"));
  return { bus, plan };
});

describe("CI's runs on several nodes", () => {
  it("cover each bus", () => {
    expect(CI_RUNS.map(({ bus }) => bus)).toEqual(["database", "nats"]);
  });

  it("contain every kind of fault on every link between them", () => {
    const seen = new Set(CI_RUNS.flatMap(({ plan }) => plan.map(nameOf)));
    expect(seen).toEqual(new Set(everything(ALL)));
  });

  it.each(CI_RUNS)("restart servers for over a second, and kill a node, over $bus", ({ bus, plan }) => {
    expect(Math.max(...lengthsOf("restart database", plan))).toBeGreaterThan(1_000);
    if (bus === "nats") expect(Math.max(...lengthsOf("restart bus", plan))).toBeGreaterThan(1_000);
    expect(lengthsOf("kill", plan)).not.toEqual([]);
  });

  // More than one such pause would take too long.
  it.each(CI_RUNS)("pause one node for longer than its lease, over $bus", ({ plan }) => {
    expect(lengthsOf("pause", plan).filter((ms) => ms > LEASE_MS)).toHaveLength(1);
  });
});
