// Facts about a failed call in the log and in `colloquy doctor --models`.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProviderCatalog, type Rig, rigs, secretKey } from "../../../server/test/provider-calls.ts";
import { answerJson, ProviderServer } from "../../../server/test/provider-server.ts";

const PRIVATE = "My account is number 4711 at the savings bank";
const server = new ProviderServer();
beforeAll(() => server.start());
afterAll(() => server.stop());

/** Returns the facts about a failing call. */
async function factsOf(rig: Rig, baseURL = server.url) {
  const catalog = createProviderCatalog(baseURL);
  const model = await catalog.resolve(rig);
  try {
    const { stream } = await model.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: PRIVATE }] }],
    });
    for await (const part of stream) if (part.type === "error") throw part.error;
  } catch (error) {
    return catalog.failureFacts(error);
  }
  throw new Error("The call succeeded");
}

describe.each(rigs)("facts about a failed call of %s", (rig) => {
  it("contain the address, the status, and the response without keys", async () => {
    const message = `Incorrect key ${secretKey}, and sk-other***key of org-acme42, and Bearer abcdef.`;
    server.answer = answerJson(401, { error: { message, type: "authentication_error" } });
    const facts = await factsOf(rig);
    expect(facts).toMatchObject({ status: 401, address: expect.stringContaining(server.url) as string });
    expect(facts.address).not.toContain("?");
    expect(facts.body).toMatch(
      /^Incorrect key \[redacted\], and \[redacted\] of \[redacted\], and \[redacted\]/,
    );
    expect(facts.body).toContain("authentication_error");
  });

  it("never quote the conversation", async () => {
    const message = `Invalid input: "${PRIVATE.slice(5, 40)}"`;
    server.answer = answerJson(400, { error: { message, type: "invalid_request_error" } });
    expect((await factsOf(rig)).body).toBe("[repeats the request], invalid_request_error");
  });

  it("contain the code of a refused connection", async () => {
    const gone = new ProviderServer();
    await gone.start();
    const { url } = gone;
    await gone.stop();
    expect(await factsOf(rig, url)).toMatchObject({
      address: expect.stringContaining(`${url}/`) as string,
      errno: "ECONNREFUSED",
    });
  });
});

it("contain the text of a proxy's page", async () => {
  server.answer = answerJson(502, "<html><style>p {}</style><h1>502 Bad Gateway</h1>\n<hr>nginx</html>");
  expect((await factsOf("local/llama3.2")).body).toBe("502 Bad Gateway nginx");
});
