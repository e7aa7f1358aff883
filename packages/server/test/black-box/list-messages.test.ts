import { PersistedMessage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { chat, expectProblem, newSession, send, whenIdle } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

async function records(session: string, query = ""): Promise<PersistedMessage[]> {
  const answer = await send(url(), "GET", `/api/sessions/${session}/messages${query}`);
  expect(answer.status).toBe(200);
  return answer.as(z.array(PersistedMessage.strict()));
}

describe("GET /api/sessions/{id}/messages", () => {
  it("returns the stored messages with calls and results", async () => {
    const session = newSession();
    await chat(url(), session, "what is 12 * 7?");
    const snapshot = await whenIdle(url(), session);
    const [question, answer, ...rest] = await records(session);
    expect(rest).toEqual([]);
    const common = {
      session_id: session,
      thread_id: session,
      created_at: expect.stringMatching(/Z$/),
      turn: 1,
    };
    expect(question).toEqual({
      ...common,
      id: snapshot.messages[0]?.id,
      role: "user",
      content: "what is 12 * 7?",
      tool_calls: null,
      tool_results: null,
    });
    expect(answer).toEqual({
      ...common,
      id: snapshot.messages[1]?.id,
      role: "assistant",
      content: snapshot.messages[1]?.content,
      tool_calls: [
        {
          id: expect.any(String),
          name: "calculator",
          title: "Calculator",
          arguments: { expression: "12 * 7" },
          status: "complete",
          text_offset: 0,
        },
      ],
      tool_results: [
        {
          call_id: answer?.tool_calls?.[0]?.id,
          name: "calculator",
          output: expect.anything(),
          is_error: false,
          duration_ms: expect.any(Number),
        },
      ],
    });
  });

  it("continues after a message, with a limit", async () => {
    const session = newSession();
    for (const message of ["one", "two"]) {
      await chat(url(), session, message);
      await whenIdle(url(), session);
    }
    const all = await records(session);
    expect(all).toHaveLength(4);
    const paged: PersistedMessage[] = [];
    for (let after = ""; ; after = `&after=${paged.at(-1)?.id}`) {
      const page = await records(session, `?limit=3${after}`);
      paged.push(...page);
      if (page.length < 3) break;
    }
    expect(paged).toEqual(all);
  });

  it.each(["after=nonsense", "limit=0", "limit=-1", "limit=1001", "limit=1&limit=2", "include=tools"])(
    "rejects ?%s with 400",
    async (query) => {
      const session = newSession();
      await chat(url(), session, "hello");
      expectProblem(await send(url(), "GET", `/api/sessions/${session}/messages?${query}`), 400);
    },
  );
});
