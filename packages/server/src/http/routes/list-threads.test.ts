import { expect, it } from "vitest";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import { expectProblem } from "../testing/expect-problem.ts";
import { startEdges, WALLET } from "../testing/edge.ts";

const edges = await startEdges();

it("creates no session if the list is refused", async () => {
  const edge = edges.testEdge();
  edges.intercept((method) => {
    if (method !== "sessions.listKeys") return undefined;
    throw new ServiceError(403, "wallet_listing_off", "Send no list request to this server.");
  });
  const answer = await edge.send("GET", `/api/sessions?public_key=${WALLET}`);
  expectProblem(answer, 403, "wallet_listing_off");
  expect(await edges.exists(edge.session)).toBe(false);
});
