import { describe, expect, it } from "vitest";
import type { ToolSettings } from "../core/app-settings.ts";
import { assertNamesFree, assertToolsAllowed } from "./chat-input.ts";
import { namedSources, sourceSettings } from "../tools/testing/source-settings.ts";

const TOOL = { description: "Draws", inputSchema: { type: "object" } };
const OWN = { inputSchema: {}, execute: () => null };
const SETTINGS: ToolSettings = {
  builtIn: ["calculator"],
  own: { weather: OWN },
  client: { look: TOOL },
  allowsClientTools: true,
  wallet: null,
  sources: [sourceSettings(namedSources, "web", {}), sourceSettings(namedSources, "pets", {})],
  effects: {},
  approvals: {},
};

const offer = (name: string, settings: Partial<ToolSettings> = {}) =>
  assertNamesFree({ tools: { ...SETTINGS, ...settings } }, { draw: TOOL, [name]: TOOL });

describe("tools that a chat offers", () => {
  it.each([
    ["a built-in tool", "calculator"],
    ["a tool of the file", "weather"],
    ["a client tool of the App", "look"],
    ["the demo model's tool", "continue_counting"],
    ["a tool of a plugin source", "web_search"],
    ["a tool of another entry", "pets_list"],
  ])("are refused with the name of %s", (_whose, name) => {
    expect(() => offer(name)).toThrow(
      expect.objectContaining({ status: 400, code: "client_tool_name_taken" }),
    );
  });

  it("are refused with the name of a wallet tool in an App with a wallet", () => {
    expect(() => offer("wallet_any", { wallet: { chains: [] } })).toThrow(/"wallet_any"/);
    expect(() => offer("wallet_any")).not.toThrow();
  });

  it.each(["website", "order_tea", "constructor", "ask_user"])("may be called %s", (name) => {
    expect(() => offer(name)).not.toThrow();
  });

  it("are refused by an App that does not allow them, even if there are none", () => {
    const { allowsClientTools: _, ...tools } = SETTINGS;
    for (const clientTools of [{ draw: TOOL }, {}, [], "no tools"]) {
      expect(() => assertToolsAllowed({ tools }, { clientTools })).toThrow(
        expect.objectContaining({ status: 400, code: "client_tools_not_allowed" }),
      );
    }
    for (const none of [{}, { clientTools: null }])
      expect(() => assertToolsAllowed({ tools }, none)).not.toThrow();
  });
});
