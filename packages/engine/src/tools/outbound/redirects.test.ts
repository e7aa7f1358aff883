import { describe, expect, it } from "vitest";
import { certificate, failure, get, limits, useOutbound } from "./testing/outbound-trial.ts";

const { open, start, startPublic } = useOutbound();

describe("a redirect", () => {
  it("is followed up to three times", async () => {
    const server = await startPublic((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end("there");
      else response.writeHead(302, { location: `/${left - 1}` }).end("moved");
    });
    const outbound = open();
    expect(await (await get(outbound, `https://public.test:${server.port}/3`)).text()).toBe("there");
    expect(await failure(get(outbound, `https://public.test:${server.port}/4`))).toEqual([
      "refused",
      `The request was refused: public.test:${server.port} redirects it more than 3 times.`,
    ]);
    expect(server.seen).toHaveLength(8);
  });

  it.each([
    "https://inside.test:PORT/",
    "https://127.0.0.1:PORT/",
    "https://[::ffff:127.0.0.1]:PORT/",
    "https://2130706433:PORT/",
    "http://inside.test:PORT/",
    "https://user:word@public.test/",
    "file:///etc/passwd",
    "//inside.test:PORT/",
  ])("to %s is refused", async (location) => {
    const inside = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    const server = await startPublic((_, response) => {
      response.writeHead(307, { location: location.replace("PORT", String(inside.port)) }).end();
    });
    const [kind] = await failure(get(open(), `https://public.test:${server.port}/`));
    expect([kind, inside.connections()]).toEqual(["refused", 0]);
  });

  it("from a configured server to another private address is refused", async () => {
    const inside = await start("127.0.0.1", (_, response) => response.end("secret"));
    const server = await start("127.0.0.1", (_, response) => {
      response.writeHead(302, { location: `http://inside.test:${inside.port}/` }).end();
    });
    const url = `http://inside.test:${server.port}/`;
    const [kind] = await failure(get(open(), url, { allowPrivate: url }));
    expect([kind, inside.connections()]).toEqual(["refused", 0]);
  });

  it("keeps credentials within an origin, and drops headers that may hold one across origins", async () => {
    const other = await startPublic();
    const server = await startPublic((request, response) => {
      const location = request.url === "/1" ? "/2" : `https://other.test:${other.port}/`;
      response.writeHead(307, { location }).end();
    });
    const headers = {
      authorization: "Bearer one",
      cookie: "session=two",
      "x-api-key": "three",
      accept: "application/json",
      "content-type": "text/plain",
    };
    const init = { method: "POST", body: "text", headers };
    await (await open().guardedFetch(`https://public.test:${server.port}/1`, init, limits())).text();
    expect(server.seen.map((request) => request.headers)).toMatchObject([headers, headers]);
    expect(other.seen).toMatchObject([
      { method: "POST", body: "text", headers: { accept: "application/json", "content-type": "text/plain" } },
    ]);
    for (const name of ["authorization", "cookie", "x-api-key"]) {
      expect(other.seen[0]?.headers).not.toHaveProperty(name);
    }
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "PATCH", "PATCH"],
  ])("with %i turns %s into %s, as fetch does", async (status, method, then) => {
    const server = await startPublic((request, response) => {
      if (request.url === "/") response.writeHead(status, { location: "/end" }).end();
      else response.end();
    });
    const body = method === "HEAD" ? null : "text";
    const init = { method, body, headers: { "content-type": "text/plain" } };
    await (await open().guardedFetch(`https://public.test:${server.port}/`, init, limits())).text();
    const end = server.seen[1];
    expect([end?.method, end?.body]).toEqual([then, then === "GET" || then === "HEAD" ? "" : "text"]);
    if (then === "GET") expect(end?.headers).not.toHaveProperty("content-type");
  });

  it("without a location is returned as the response", async () => {
    const server = await startPublic((_, response) => response.writeHead(302).end("nowhere"));
    const response = await get(open(), `https://public.test:${server.port}/`);
    expect([response.status, await response.text()]).toEqual([302, "nowhere"]);
  });
});
