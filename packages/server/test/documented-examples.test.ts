import { expect, it } from "vitest";
import { ASKING, pathOnAction, pathOnAnswer, exampleRequests } from "./documented-examples.ts";
import { useService } from "./black-box/server.ts";

const url = useService(ASKING);

it("succeeds with the documented examples of every operation that needs no key", async () => {
  const requests = await exampleRequests(url());
  expect(requests.map(({ operationId }) => operationId)).toEqual(
    expect.arrayContaining([
      "sendMessage",
      "subscribe",
      "decideAction",
      "claimAction",
      "setSecrets",
      "metrics",
    ]),
  );
  for (const request of requests) {
    const { operationId, method, target, headers, body, successes } = request;
    const path = (await pathOnAction(url(), request)) ?? (await pathOnAnswer(url(), request)) ?? target;
    const reading = new AbortController();
    const answer = await fetch(url() + path, {
      method: method.toUpperCase(),
      headers,
      body,
      signal: reading.signal,
    });
    const problem = answer.ok ? null : await answer.text();
    expect([operationId, problem]).toEqual([operationId, null]);
    expect(successes).toContain(answer.status);
    reading.abort();
  }
});
