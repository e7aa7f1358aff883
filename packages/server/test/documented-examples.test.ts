import { expect, it } from "vitest";
import { ASKING, askForApproval, exampleRequests } from "./documented-examples.ts";
import { useService } from "./black-box/server.ts";

const url = useService(ASKING);

it("succeeds with the documented examples of every operation that needs no key", async () => {
  const requests = await exampleRequests(url());
  expect(requests.map(({ operationId }) => operationId)).toEqual(
    expect.arrayContaining(["sendMessage", "subscribe", "decideAction", "setSecrets", "metrics"]),
  );
  for (const { operationId, method, target, headers, body, successes } of requests) {
    // The service creates the ids of actions.
    const path =
      operationId === "decideAction" ? `/api/actions/${await askForApproval(url(), headers)}` : target;
    const reading = new AbortController();
    const answer = await fetch(url() + path, {
      method: method.toUpperCase(),
      headers,
      body,
      signal: reading.signal,
    });
    const problem = answer.ok ? null : await answer.text();
    expect([operationId, answer.status, problem]).toEqual([operationId, successes[0], null]);
    reading.abort();
  }
});
