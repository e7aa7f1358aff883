import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { write, loaded } = useConfigDirectory();

describe("secrets", () => {
  it("never appear in a printed configuration", async () => {
    await write("colloquy.config.json", {
      apps: { default: { models: ["a/b"] } },
      providers: {
        a: {
          kind: "openai-compatible",
          baseURL: "http://x.test",
          apiKeyEnv: "A_KEY",
          headers: { Authorization: "Bearer sk-header" },
        },
      },
    });
    const masterKey = "sk-master-".repeat(5).slice(0, 43);
    const config = await loaded({
      A_KEY: "sk-a",
      OPENAI_API_KEY: "sk-openai",
      COLLOQUY_SECRET_KEY: masterKey,
    });
    const prints = [
      inspect(config, { depth: null, showHidden: true }),
      inspect(config.secrets, { depth: null, showHidden: true, customInspect: false }),
      JSON.stringify(config),
    ];
    for (const print of prints) expect(print).not.toContain("sk-");
    const secrets = config.secrets.reveal();
    expect(secrets["a"]).toEqual({ apiKey: "sk-a", headers: { Authorization: "Bearer sk-header" } });
    expect(config.secretKey?.reveal()).toBe(masterKey);
    expect(secrets["nobody"]).toBeUndefined();
  });
});
