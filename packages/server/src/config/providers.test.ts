import { describe, expect, it } from "vitest";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { write, loaded, problems } = useConfigDirectory();

describe("the base URL of a known provider", () => {
  const keys = { OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", GEMINI_API_KEY: "c" };
  const addresses = async (environment: Environment) => {
    const { providers } = await loaded({ ...keys, ...environment });
    return ["openai", "anthropic", "google"].map((name) => providers[name]?.baseURL ?? null);
  };

  it("defaults to the provider's own, or comes from its usual variable with the version appended", async () => {
    expect(await addresses({})).toEqual([null, null, null]);
    const named = (host: string, version: string): Environment => ({
      OPENAI_BASE_URL: `${host}/v1${version && "/"}`,
      ANTHROPIC_BASE_URL: `${host}${version && "/v1"}`,
      GOOGLE_GEMINI_BASE_URL: ` ${host}/${version && "v1beta"} `,
    });
    const expected = ["http://gateway.test/v1", "http://gateway.test/v1", "http://gateway.test/v1beta"];
    expect(await addresses(named("http://gateway.test", ""))).toEqual(expected);
    expect(await addresses(named("http://gateway.test", "with"))).toEqual(expected);
  });

  it("comes from the file if set there, whatever the variable is", async () => {
    await write("colloquy.config.json", { providers: { openai: { baseURL: "http://mine.test/v1" } } });
    expect(await addresses({ OPENAI_BASE_URL: "not even an address" })).toEqual([
      "http://mine.test/v1",
      null,
      null,
    ]);
  });

  it("ignores the usual variable if the section names another key", async () => {
    await write("colloquy.config.json", {
      providers: { openai: { apiKeyEnv: "MY_KEY" }, team: { kind: "openai" } },
    });
    const { providers } = await loaded({
      ...keys,
      MY_KEY: "mine",
      OPENAI_BASE_URL: "http://gateway.test/v1",
    });
    expect(providers["openai"]).toEqual({ kind: "openai" });
    expect(providers["team"]).toEqual({ kind: "openai", baseURL: "http://gateway.test/v1" });
  });

  it("must be a valid URL if the provider is used", async () => {
    const wrong = { ANTHROPIC_BASE_URL: "gateway.test", OPENAI_BASE_URL: "http://user:password@x.test/v1" };
    const rule = "must be an http or https URL without user name, password and query.";
    expect(await problems({ ...keys, ...wrong })).toEqual([
      `OPENAI_BASE_URL: ${rule}`,
      `ANTHROPIC_BASE_URL: ${rule}`,
    ]);
    expect(await problems(wrong)).toEqual([]);
  });
});
