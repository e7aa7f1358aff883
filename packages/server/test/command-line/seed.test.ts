import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Service } from "./service.ts";

const WALLET = "0x52908400098527886E0F7030069857D2E4169EE7";

describe("colloquy seed", () => {
  let service: Service;
  beforeAll(async () => {
    service = await Service.start();
  });
  afterAll(() => service.remove());

  it("adds all sample conversations to the running service", async () => {
    const { code, output } = await service.command(["seed", "--count", "13", "--wallet", WALLET]);
    expect(code).toBe(0);
    // A hint follows the conversations.
    const lines = output.split("\n").filter((line) => /^[\w-]{36} {2}/.test(line));
    expect(lines).toHaveLength(13);
    expect(lines.at(-1)).toMatch(/A first look \(2\)$/);
    const { threads } = await service.client.listThreads(WALLET);
    expect(threads.map(({ title }) => title)).toEqual(
      expect.arrayContaining(["A first look", "Tea, waiting for you", "週末の計画"]),
    );
    const of = (title: string) => lines.find((line) => line.endsWith(`  ${title}`))!.split("  ")[0]!;
    const states = await Promise.all(
      ["Tea for the meeting", "Tea, cancelled", "Tea, waiting for you"].map(async (title) => {
        const [action] = await service.client.listActions(of(title));
        return action?.status;
      }),
    );
    expect(states).toEqual(["approved", "denied", "pending"]);
  });

  it("rejects an App without the demo model, and counts out of range", async () => {
    const other = await Service.start({
      config: {
        apps: { default: { models: ["local/one"] } },
        providers: { local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" } },
      },
    });
    try {
      const { code, errors } = await other.command(["seed"]);
      expect([code, errors]).toEqual([
        2,
        expect.stringContaining('does not offer demo/assistant. Add "demo/assistant" to its models'),
      ]);
    } finally {
      await other.remove();
    }
    expect((await service.command(["seed", "--count", "0"])).code).toBe(2);
  });
});
