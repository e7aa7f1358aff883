// Malformed MCP tools end to end: from the server's list to the provider request, and from the model's call back to the
// server.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ScriptedMcp } from "@colloquy/mcp/internal/testing/scripted-mcp";
import { writeEvents } from "../provider-server.ts";
import { PROTOCOLS } from "./protocols.ts";
import { newSession, startProviderService, type ProviderService } from "./provider-service.ts";
import {
  anthropicToolProblems,
  compatibleToolProblems,
  googleToolProblems,
  openaiToolProblems,
} from "./tool-rules.ts";

const PROBLEMS = [openaiToolProblems, anthropicToolProblems, googleToolProblems, compatibleToolProblems];

let mcp: ScriptedMcp;
let service: ProviderService;
const session = newSession();

beforeEach(async () => {
  mcp = await new ScriptedMcp().start();
});
afterEach(async () => {
  await service.stop();
  await mcp.stop();
});

const ODD = {
  anyOf: [
    { type: "object", properties: { 名前: { type: "string" }, count: { type: ["integer", "null"] } } },
    { type: "object", properties: { list: { type: "array" } }, required: ["list"] },
  ],
};

/** Returns the property names in a provider request, independently of its format. */
function propertiesOf(body: unknown): string[] {
  const found = /"name":"srv_work".*?"properties":(\{.*?\}\})/.exec(JSON.stringify(body))?.[1] ?? "{}";
  return [...found.matchAll(/"([^"]+)":\{/g)].map(([, name = ""]) => name);
}

describe.each(PROTOCOLS.map((protocol, index) => [protocol.rig, protocol, PROBLEMS[index]!] as const))(
  "%s",
  (rig, protocol, problems) => {
    it("receives valid tool definitions, and calls are approved and run with the server's property names", async () => {
      mcp.tools = [{ name: "work", inputSchema: ODD }, null as never, { name: "plain", inputSchema: null }];
      service = await startProviderService(rig, {
        tools: [],
        mcp: { srv: { url: mcp.url } },
        approvals: { srv_work: "always" },
      });
      let requests = 0;
      service.provider.answer = (response, { body }) => {
        requests += 1;
        expect(problems(body)).toEqual([]);
        const [name = ""] = propertiesOf(body);
        // The approval and the call must both contain the restored arguments, not those of the model.
        const call = { tool: "srv_work", input: { [name]: "Ada", list: null }, id: "callabcde" };
        writeEvents(response, protocol.answer(requests === 1 ? [call] : [{ deltas: ["Done."] }]));
        response.end();
      };
      await service.chat(session, "Hello", "wait");
      const snapshot = await service.stateWhen(session, ({ pending_actions: all }) => all.length > 0);
      const input = { 名前: "Ada" };
      expect(snapshot.pending_actions).toMatchObject([{ request: { tool: "srv_work", input } }]);
      expect(snapshot.messages[1]?.tool_calls).toMatchObject([{ name: "srv_work", arguments: input }]);
      await service.approve(session, snapshot.pending_actions[0]!.id);
      await service.stateWhen(session, (state) => !state.is_processing);
      expect(mcp.of("tools/call").map(({ params }) => params["arguments"])).toEqual([input]);
    });
  },
);
