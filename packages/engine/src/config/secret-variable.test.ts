import { describe, expect, it } from "vitest";
import { useConfigDirectory } from "../../../server/src/config/testing/config-directory.ts";

const { inside, write, loaded, problems, warnings } = useConfigDirectory();
const KEY = "a-key_of/16.chars-in-a-file";

describe("a secret in a file", () => {
  it.each([
    ["COLLOQUY_ADMIN_KEY", KEY, "adminKey"],
    ["COLLOQUY_SECRET_KEY", "0f1e".repeat(16), "secretKey"],
  ] as const)("sets %s, without the trailing newline", async (name, value, setting) => {
    await write("secret", `${value}\n`);
    const environment = { [`${name}_FILE`]: inside("secret") };
    expect((await loaded(environment))[setting]?.reveal()).toBe(value);
    expect(await warnings(environment)).toEqual([]);
  });

  it("sets the URLs of the database and of NATS", async () => {
    await write("database", "postgres://localhost/x");
    await write("nats", "nats://localhost");
    const { backend, transport } = await loaded({
      COLLOQUY_DATABASE_URL_FILE: inside("database"),
      COLLOQUY_NATS_URL_FILE: inside("nats"),
    });
    expect(backend.settings.reveal()).toEqual({ url: "postgres://localhost/x" });
    expect(transport?.settings.reveal()).toEqual({ url: "nats://localhost" });
  });

  it("sets a provider's key and the value of a placeholder", async () => {
    await write("secret", `${KEY}\n`);
    await write("colloquy.config.json", {
      providers: {
        own: {
          kind: "openai-compatible",
          baseURL: "http://x.test",
          apiKeyEnv: "COLLOQUY_OWN_KEY",
          headers: { "X-Key": "{{env.GATEWAY_KEY}}" },
        },
      },
    });
    const file = inside("secret");
    const environment = { OPENAI_API_KEY_FILE: file, COLLOQUY_OWN_KEY_FILE: file, GATEWAY_KEY_FILE: file };
    const { secrets } = await loaded(environment);
    expect(secrets.reveal()["openai"]?.apiKey).toBe(KEY);
    expect(secrets.reveal()["own"]).toEqual({ apiKey: KEY, headers: { "X-Key": KEY } });
    expect(await warnings(environment)).toEqual([]);
  });

  it("is rejected, without quoting it, if it is missing, empty, invalid or set twice", async () => {
    await write("empty", "\n");
    await write("wrong", "with a space in the middle");
    const found = async (path: string, more = {}) =>
      await problems({ COLLOQUY_ADMIN_KEY_FILE: path, ...more });
    expect(await found(inside("none"))).toEqual([
      expect.stringMatching(/^COLLOQUY_ADMIN_KEY: .*COLLOQUY_ADMIN_KEY_FILE.*none.*no such file/),
    ]);
    expect(await found(inside("empty"))).toEqual([expect.stringMatching(/^COLLOQUY_ADMIN_KEY: is empty /)]);
    const wrong = await found(inside("wrong"));
    expect(wrong).toEqual([expect.stringMatching(/^COLLOQUY_ADMIN_KEY: must be /)]);
    expect(wrong.join()).not.toContain("in the middle");
    expect(await found(inside("wrong"), { COLLOQUY_ADMIN_KEY: KEY })).toEqual([
      "COLLOQUY_ADMIN_KEY: is set, and so is COLLOQUY_ADMIN_KEY_FILE. Unset one of them.",
    ]);
    expect(await problems({ OPENAI_API_KEY_FILE: inside("none") })).toEqual([
      expect.stringMatching(/^OPENAI_API_KEY: /),
    ]);
  });

  it("is not supported for other variables", async () => {
    expect(await warnings({ COLLOQUY_LOG_LEVEL_FILE: "/x" })).toEqual([
      expect.stringMatching(/^COLLOQUY_LOG_LEVEL_FILE is set, but nothing reads it/),
    ]);
  });
});
