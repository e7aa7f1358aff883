import { describe, expect, it } from "vitest";
import { SESSION, testEdge } from "../testing/edge.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";

describe("POST /api/interrupt", () => {
  itNeedsASessionId({ method: "POST", url: "/api/interrupt" });

  it("returns the snapshot", async () => {
    const answer = await testEdge().send("POST", "/api/interrupt");
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ session_id: SESSION, is_processing: false });
  });
});
