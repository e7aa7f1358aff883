// The database fails after a commit: a stored message is never reported as not stored, because clients would
// send it again.

import { afterEach, describe, expect, it } from "vitest";
import { OutcomeUnknown } from "@colloquy/engine/internal/core/errors";
import { storeUnavailable } from "@colloquy/engine/internal/store/unavailable";
import { startNodes, type Nodes } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { usePostgres } from "./use-postgres.ts";
import { newId } from "./service.ts";

const READS = ["sessions.versions", "open", "sessions.find", "events.after"];

const server = usePostgres();
let cluster: Nodes;

describe.skipIf(await isWithoutPostgres())("a chat stored before the database failed", () => {
  let isAway = false;
  afterEach(() => cluster.close());

  it("is reported as stored while it waits for its answer", async () => {
    isAway = false;
    cluster = await startNodes(server, {
      count: 2,
      beforeCall: (method) => {
        if (isAway && READS.includes(method)) throw storeUnavailable(new Error("away"));
        // Everything after the chat's own transaction fails.
        if (method === "chat") isAway = true;
        return undefined;
      },
    });
    const node = cluster.nodes[1]!;
    const id = newId();
    await node.snapshot(id);
    const refused = await node.say(id, "hello", { waitMs: 5_000 }).catch((error: unknown) => error);
    isAway = false;
    expect(refused).toBeInstanceOf(OutcomeUnknown);
    expect(refused).toMatchObject({ status: 503, code: "stored_not_shown" });
    expect(refused).toHaveProperty("detail", expect.stringContaining("was stored"));
    expect((await node.snapshot(id)).messages[0]?.content).toBe("hello");
  });
});
