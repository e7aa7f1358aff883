import { describe, expect, it } from "vitest";
import { createRandom } from "../harness/random.ts";
import type { LinkName } from "./cluster.ts";
import { LINK_FAULTS, NODE_FAULTS, planFaults, SERVER_FAULTS } from "./faults.ts";

const ALL: readonly LinkName[] = ["clients", "database", "bus"];

describe("a plan of faults", () => {
  it("has every kind on every node and link in it", () => {
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

  it("is the same for the same seed", () => {
    expect(planFaults(50, 3, ALL, createRandom("x"))).toEqual(planFaults(50, 3, ALL, createRandom("x")));
  });

  it("leaves a bus alone that there is none of", () => {
    const plan = planFaults(500, 3, ["clients", "database"], createRandom(1));
    expect(plan.filter((fault) => fault.kind === "restart bus")).toEqual([]);
    expect(plan.filter((fault) => "link" in fault && fault.link === "bus")).toEqual([]);
  });

  it("pauses nodes for one second to a minute, beyond the length of a lease too", () => {
    const pauses = planFaults(1_000, 3, ALL, createRandom(1)).filter(({ kind }) => kind === "pause");
    const lengths = pauses.map(({ ms }) => ms);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(60_000);
    expect(lengths.filter((ms) => ms > 10_000).length).toBeGreaterThan(lengths.length / 4);
  });
});
