// Summaries on several nodes with one PostgreSQL database.

import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../src/config/config.ts";
import { SUMMARY_LEASE_MS } from "@colloquy/engine/internal/sessions/summaries";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { startNodes, type Nodes } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { usePostgres } from "./use-postgres.ts";
import { MODEL, newId, until, type TestService } from "./service.ts";

const server = usePostgres();
let cluster: Nodes;

const adjust = (config: Config): Config => ({
  ...config,
  apps: { ...config.apps, default: { ...config.apps["default"]!, utilityModel: MODEL } },
});

/** Returns the next model call of any node, after answering those for titles. */
async function next(nodes: readonly TestService[]): Promise<ScriptedCall> {
  const isCalled = ({ model }: TestService) => model.waitingCalls > 0;
  await until(() => nodes.some(isCalled));
  const call = await nodes.find(isCalled)!.model.next();
  if (call.prompt[0]?.startsWith("system: Write a title") !== true) return call;
  call.say("A title").finish();
  return await next(nodes);
}

describe.skipIf(await isWithoutPostgres())("a summary", () => {
  afterEach(() => cluster.close());

  it("is created by one of three nodes, or by another one after a crash, and used by all", async () => {
    cluster = await startNodes(server, { count: 3, adjust });
    const nodes = cluster.nodes;
    const id = newId();
    const isIdle = async (node: TestService) => !(await node.snapshot(id)).is_processing;
    for (const [index, word] of ["apple", "berry", "cherry", "date"].entries()) {
      const node = nodes[index % 3]!;
      await node.say(id, `Tell me of ${word}`);
      (await next(nodes)).say(`${word} `.repeat(18_000 / (word.length + 1))).finish();
      await until(() => isIdle(node));
    }
    const isAtWork = ({ model }: TestService) => model.waitingCalls > 0;
    await until(() => nodes.some(isAtWork));
    for (const node of nodes) await node.summaries.lookForDue();
    expect(nodes.filter(isAtWork)).toHaveLength(1);
    const crashed = nodes.find(isAtWork)!;
    const others = nodes.filter((node) => node !== crashed);
    await crashed.crash();
    await cluster.pass(SUMMARY_LEASE_MS + 20_000);
    (await next(others)).say("<summary>Fruits.</summary>").finish();
    const summarized = async (node: TestService) =>
      (await node.snapshot(id)).messages.flatMap(({ turn, summary }) =>
        summary === undefined ? [] : [turn],
      );
    for (const node of others) await until(async () => (await summarized(node)).length === 1);
    await others[1]!.say(id, "And now?");
    const { prompt } = await next(others);
    expect(prompt[1]).toContain("Fruits.");
  });
});
