import { expect, it } from "vitest";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const PATH = `/api/sessions/${SESSION}/fork`;

it("returns the copy, and creates nothing for an unknown session or without an id for the copy", async () => {
  const edge = testEdge();
  const send = (payload: object) => edge.send("POST", PATH, { payload });
  expectProblem(await send({ session_id: OTHER_SESSION }), 404, "session_not_found");
  await edge.send("POST", "/api/sessions");
  const copy = await send({ session_id: OTHER_SESSION, through_message_id: null });
  expect(copy.json()).toMatchObject({ session_id: OTHER_SESSION });
  edge.services.conversations.sessions.delete(OTHER_SESSION);
  expectProblem(await send({}), 400, "parameter_missing");
  expectProblem(await send({ session_id: "x" }), 400, "parameter_invalid");
  expectProblem(await send({ session_id: OTHER_SESSION, through_message_id: "x" }), 400, "parameter_invalid");
  expect([...edge.services.conversations.sessions.keys()]).toEqual([SESSION]);
});
