// Calls that a client runs, on three nodes: claims and results exclude each other on all of them.

import { isDeepStrictEqual } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../src/config/config.ts";
import { CLAIM_MS } from "@colloquy/engine/internal/core/commands/claim-action";
import { FoldingReader } from "./folding-reader.ts";
import { startNodes, type Nodes } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { newId, until, type TestService } from "./service.ts";
import { usePostgres } from "./use-postgres.ts";

const LOOK = { description: "Looks where the user is", inputSchema: { type: "object" } };
const withClientTools = ({ apps: { default: app, ...apps }, ...config }: Config): Config => {
  const client = { look: LOOK, peek: { ...LOOK, repeatable: true } };
  return { ...config, apps: { ...apps, default: { ...app!, tools: { ...app!.tools, client } } } };
};

const server = usePostgres();
let cluster: Nodes;

describe.skipIf(await isWithoutPostgres())("a tool that runs in the client, on three nodes", () => {
  const readers: FoldingReader[] = [];
  afterEach(async () => {
    for (const reader of readers.splice(0)) reader.drop();
    await cluster.close();
  });

  /** Starts nodes whose session waits for a client that runs the tool. The first node runs the turn. */
  async function waiting(tool: string, hasBus: boolean) {
    cluster = await startNodes(server, { count: 3, hasBus, adjust: withClientTools });
    const nodes = cluster.nodes as unknown as readonly [TestService, TestService, TestService];
    const id = newId();
    for (const node of nodes) {
      const reader = new FoldingReader(node, id);
      await reader.connect();
      readers.push(reader);
    }
    await nodes[0].say(id, "go");
    (await nodes[0].model.next()).callTool(tool, {}, "c1").finish("tool-calls");
    await until(async () => (await nodes[0].snapshot(id)).pending_actions.length === 1);
    const pending = async (node: TestService) => {
      const [asked] = (await node.snapshot(id)).pending_actions;
      if (asked?.kind !== "client_tool") throw new Error("No client is asked.");
      return asked;
    };
    const { id: action } = await pending(nodes[0]);
    return {
      nodes,
      pending,
      claim: (node: TestService, renews: string | null = null) =>
        node.actions.claim(id, action, { renews }, null),
      approve: (node: TestService, claim: string) =>
        node.actions.decide(id, action, { decision: "approve", claim, result: { output: 5 } }, null),
      /** Returns the snapshot, which is the same on every node and for every subscriber. */
      common: async () => {
        if (!hasBus) await cluster.pass(2_000);
        const snapshot = await nodes[0].snapshot(id);
        for (const node of nodes) expect(await node.snapshot(id)).toEqual(snapshot);
        for (const reader of readers) {
          await until(() => isDeepStrictEqual(reader.snapshot, snapshot));
          expect(reader.faults).toEqual([]);
        }
        return snapshot;
      },
    };
  }

  /** Returns the prompt of the turn's next call, on whichever node it runs. */
  async function nextPrompt(nodes: readonly TestService[]): Promise<string> {
    await until(async () => {
      if (nodes.some(({ model }) => model.waitingCalls > 0)) return true;
      await cluster.pass(1_000);
      return false;
    });
    const node = nodes.find(({ model }) => model.waitingCalls > 0);
    return (await node!.model.next()).prompt.join();
  }

  describe.each([
    ["with the bus", true],
    ["without the bus", false],
  ])("%s", (_name, hasBus) => {
    it("is claimed on one node, refused to others, and decided on another", async () => {
      const { nodes, claim, approve, common } = await waiting("look", hasBus);
      const [a, b, c] = nodes;
      const { claim: token, expires_at } = await claim(b);
      await expect(claim(c)).rejects.toMatchObject({ status: 409, code: "action_claimed" });
      await expect(claim(a)).rejects.toMatchObject({ status: 409, code: "action_claimed" });
      await expect(approve(a, "another")).rejects.toMatchObject({ status: 409, code: "action_claimed" });
      expect((await common()).pending_actions).toMatchObject([{ claim_expires_at: expires_at }]);
      const renewed = await claim(c, token);
      expect(renewed.claim).toBe(token);
      expect((await common()).pending_actions).toMatchObject([{ claim_expires_at: renewed.expires_at }]);
      expect(await approve(c, token)).toMatchObject({ status: "approved" });
      expect(await approve(a, token)).toMatchObject({ status: "approved" });
      await expect(claim(b)).rejects.toMatchObject({ status: 409, code: "action_decided" });
      expect(await nextPrompt(nodes)).toContain('"output":{"type":"json","value":5}');
      expect((await common()).messages[1]?.tool_results).toMatchObject([{ output: 5, is_error: false }]);
    });

    it("has the result `outcome unknown` on all nodes when its claim expires", async () => {
      const { nodes, claim, approve, common } = await waiting("look", hasBus);
      const [a, b, c] = nodes;
      const { claim: token } = await claim(b);
      await cluster.pass(CLAIM_MS);
      for (const node of [c, a]) {
        await expect(approve(node, token)).rejects.toMatchObject({ status: 410, code: "action_expired" });
        await expect(claim(node)).rejects.toMatchObject({ status: 410, code: "action_expired" });
      }
      expect(await nextPrompt(nodes)).toContain("outcome unknown");
      const { messages, pending_actions } = await common();
      expect(messages[1]?.tool_results).toMatchObject([{ output: "outcome unknown", is_error: true }]);
      expect(pending_actions).toEqual([]);
    });

    it("can be claimed on all nodes when the claim of a repeatable call expires", async () => {
      const { nodes, claim, approve, common, pending } = await waiting("peek", hasBus);
      const [a, b, c] = nodes;
      const { claim: token } = await claim(b);
      await cluster.pass(CLAIM_MS);
      // The sweep of any node may free it.
      await until(async () => (await pending(a)).claim_expires_at === null);
      await common();
      await expect(approve(b, token)).rejects.toMatchObject({ status: 409, code: "action_not_claimed" });
      const { claim: next } = await claim(c);
      await expect(approve(b, token)).rejects.toMatchObject({ status: 409, code: "action_claimed" });
      expect(await approve(a, next)).toMatchObject({ status: "approved" });
      expect(await nextPrompt(nodes)).toContain('"value":5');
    });
  });
});
