import { AdminKey, IssuedAdminKey } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useAdminService } from "./admin-service.ts";
import { expectProblem, newSession, send } from "./client.ts";

const service = useAdminService();

const create = (json: unknown) => service().admin("POST", "keys", { json });

async function list(query = ""): Promise<AdminKey[]> {
  return (await service().admin("GET", `keys${query}`)).as(z.array(AdminKey));
}

/** Returns whether the key opens the App, on whichever node answers. */
async function opens(key: string, app: string): Promise<boolean> {
  const headers = { "SERVICE-APP-KEY": key };
  const path = `/api/control/models?app=${app}`;
  return (await send(service().url, "GET", path, { session: newSession(), headers })).status === 200;
}

/** keys-on-nodes.test.ts tests the limit of five seconds, on a manual clock. */
async function untilClosed(key: string, app: string): Promise<void> {
  await expect.poll(() => opens(key, app)).toBe(false);
}

describe("POST /api/admin/keys", () => {
  it("creates a key that opens its Apps at once, and shows it only in this answer", async () => {
    const answer = await create({ apps: ["asking", "failing"], name: " web ", expires_in_seconds: 3600 });
    expect(answer.status).toBe(200);
    const { key, ...listed } = answer.as(IssuedAdminKey);
    expect(listed).toMatchObject({
      name: "web",
      apps: ["asking", "failing"],
      status: "good",
      revoked_at: null,
    });
    expect(Date.parse(listed.expires_at!) - Date.parse(listed.created_at)).toBe(3_600_000);
    expect(await opens(key, "asking")).toBe(true);
    const all = await service().admin("GET", "keys");
    expect(all.json()).toContainEqual(listed);
    expect(all.text).not.toContain(key.slice(key.lastIndexOf("_") + 1));
  });

  it.each([
    [{ apps: ["nobody"] }, "app_unknown"],
    [{ apps: ["default"] }, "app_unknown"],
    [{ apps: [] }, "app_unknown"],
    [{ apps: ["asking"], scopes: ["admin:read"] }, "app_unknown"],
    [{ apps: [], scopes: ["admin"] }, "parameter_invalid"],
    [{}, "parameter_missing"],
    [{ apps: "asking" }, "parameter_invalid"],
    [{ apps: ["asking"], name: "" }, "parameter_invalid"],
    [{ apps: ["asking"], name: "a\u0007b" }, "parameter_invalid"],
    [{ apps: ["asking"], expires_in_seconds: 0 }, "parameter_invalid"],
    [{ apps: ["asking"], expires_in_seconds: 1.5 }, "parameter_invalid"],
    [{ apps: ["asking"], expires_in_seconds: 1e300 }, "parameter_invalid"],
    [[], "body_invalid"],
    [null, "body_invalid"],
  ])("rejects %j", async (body, code) => {
    const before = await list();
    const answer = await create(body);
    expectProblem(answer, 400);
    expect(answer.json()).toMatchObject({ code });
    expect(await list()).toEqual(before);
  });
});

describe("GET /api/admin/keys", () => {
  it("filters by App", async () => {
    await create({ apps: ["asking"], name: "of asking" });
    expect((await list("?app=asking")).map(({ name }) => name)).toContain("of asking");
    expect((await list("?app=failing")).map(({ name }) => name)).not.toContain("of asking");
    expect(await list("?app=nobody")).toEqual([]);
  });
});

describe("DELETE /api/admin/keys/{id}", () => {
  it("revokes the key and records when", async () => {
    const { id, key } = (await create({ apps: ["asking"] })).as(IssuedAdminKey);
    expect(await opens(key, "asking")).toBe(true);
    const revoked = (await service().admin("DELETE", `keys/${id}`)).as(AdminKey);
    expect(revoked).toMatchObject({ id, status: "revoked" });
    expect((await service().admin("DELETE", `keys/${id}`)).json()).toEqual(revoked);
    await untilClosed(key, "asking");
    expectProblem(await service().admin("DELETE", "keys/nobody"), 404);
  });
});

describe("POST /api/admin/keys/{id}/rotate", () => {
  it("creates a key for the same Apps at once, and the old one expires after the overlap", async () => {
    const old = (await create({ apps: ["asking"], name: "web" })).as(IssuedAdminKey);
    const next = (await service().admin("POST", `keys/${old.id}/rotate`)).as(IssuedAdminKey);
    expect(next).toMatchObject({ apps: ["asking"], name: "web", status: "good" });
    expect([await opens(next.key, "asking"), await opens(old.key, "asking")]).toEqual([true, true]);
    const ofOld = (await list()).find(({ id }) => id === old.id);
    expect(Date.parse(ofOld!.expires_at!) - Date.parse(next.created_at)).toBeGreaterThan(86_300_000);
    const last = await service().admin("POST", `keys/${next.id}/rotate`, { json: { overlap_seconds: 0 } });
    expect(last.status).toBe(200);
    await untilClosed(next.key, "asking");
    expect(await opens(last.as(IssuedAdminKey).key, "asking")).toBe(true);
  });

  it("rejects an unknown or ended key, and an invalid overlap", async () => {
    const { id } = (await create({ apps: ["asking"] })).as(IssuedAdminKey);
    const rotate = (key: string, json?: unknown) =>
      service().admin("POST", `keys/${key}/rotate`, json === undefined ? {} : { json });
    expectProblem(await rotate("nobody"), 404);
    for (const overlap_seconds of [-1, "1", 0.5]) expectProblem(await rotate(id, { overlap_seconds }), 400);
    await service().admin("DELETE", `keys/${id}`);
    const answer = await rotate(id);
    expectProblem(answer, 404);
    expect(answer.json()).toMatchObject({ code: "app_key_ended" });
  });
});
