import { AdminApp } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useAdminService } from "./admin-service.ts";

const service = useAdminService();

describe("GET /api/admin/apps", () => {
  const list = async () => (await service().admin("GET", "apps")).as(z.array(AdminApp));

  it("returns every App with its models and the state of its tool sources", async () => {
    const before = await list();
    expect(before.map(({ name }) => name)).toEqual(["default", "asking", "failing"]);
    expect(before[0]).toMatchObject({
      description: "For everybody",
      is_configured: true,
      models: ["demo/assistant"],
      utility_model: "demo/assistant",
      require_key: "never",
      good_keys: 0,
      sessions: 0,
    });
    expect(before[2]).toMatchObject({ require_key: "all", models: ["broken/model", "demo/assistant"] });
    for (const { state, tools, seen_at } of before[0]!.tool_sources) {
      expect([state, tools, seen_at]).toEqual(["unused", null, null]);
    }
  });

  it("counts keys and sessions", async () => {
    const { say } = service();
    await say("hello", "asking", 20);
    await say("hello", "asking", 20);
    await say("hello", "default", 20);
    const apps = await list();
    expect(apps.map(({ name, good_keys, sessions }) => [name, good_keys, sessions])).toEqual([
      ["default", 0, 1],
      ["asking", 2, 2],
      ["failing", 0, 0],
    ]);
  });
});
