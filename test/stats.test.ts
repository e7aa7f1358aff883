import { expect, it } from "vitest";
import { installedMegabytes, MOST_MEGABYTES } from "../scripts/stats/installations.ts";
import { countFolders } from "../scripts/stats/folders.ts";
import { measureWalks } from "../scripts/stats/walks.ts";

it("counts the files and lines of each folder", () => {
  const folders = countFolders();
  expect([...folders.keys()]).toEqual(expect.arrayContaining(["core", "http", "sessions", "store", "turns"]));
  for (const { files, lines } of folders.values()) expect(lines).toBeGreaterThan(files);
});

it("measures at most 500 MB that `npm ci` installs for contributors, beside Node", async () => {
  expect(await installedMegabytes()).toBeLessThanOrEqual(MOST_MEGABYTES["npm ci"]);
});

it("finds the files of each walk on both threads, without those that are only loaded", {
  timeout: 120_000,
}, async () => {
  const walks = await measureWalks();
  const store = "server/src/store/sqlite/worker.ts";
  expect(walks.chat).toEqual(
    expect.arrayContaining(["server/src/http/routes/chat.ts", "server/src/core/commands/complete.ts", store]),
  );
  expect(walks.event).toEqual(expect.arrayContaining(["server/src/http/event-stream.ts"]));
  expect(walks["approved tool call"]).toEqual(
    expect.arrayContaining(["server/src/http/routes/actions.ts", "server/src/tools/call-tool.ts", store]),
  );
  for (const files of Object.values(walks)) {
    expect(files).not.toContain("server/src/main.ts");
    expect(new Set(files).size).toBe(files.length);
  }
});
