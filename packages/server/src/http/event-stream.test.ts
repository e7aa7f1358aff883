import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { EventStream } from "./event-stream.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
  for (const server of servers) server.close();
});

/** Returns a response of a real server, and the same response as its client receives it. */
async function exchange(): Promise<{
  response: ServerResponse;
  answer: Promise<IncomingMessage>;
  leave: () => void;
}> {
  const server = createServer();
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = request({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  client.on("error", () => {});
  const answer = once(client, "response").then(([message]) => message as IncomingMessage);
  answer.catch(() => {});
  client.end();
  const [, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  return { response, answer, leave: () => client.destroy() };
}

function streamOn(response: ServerResponse): {
  stream: EventStream;
  closed: () => number;
  ended: () => number;
} {
  let closed = 0;
  let over = 0;
  const stream = new EventStream(
    () => response.writeHead(200, { "content-type": "text/event-stream" }),
    () => (over += 1),
  );
  response.on("close", () => stream.closed());
  stream.attach({ close: () => (closed += 1) });
  return { stream, closed: () => closed, ended: () => over };
}

describe("an event stream", () => {
  it("sends its head when a subscriber is attached, then the written text in order", async () => {
    const { response, answer } = await exchange();
    const { stream } = streamOn(response);
    const message = await answer;
    expect(message.headers["content-type"]).toBe("text/event-stream");
    stream.writeBytes(Buffer.from("a"));
    stream.writeBytes(Buffer.from("b"));
    stream.end("finish");
    expect(Buffer.concat(await message.toArray()).toString()).toBe("ab");
  });

  it("sends its head with the first write", async () => {
    const { response, answer } = await exchange();
    const stream = new EventStream(() => response.writeHead(200), null);
    expect(stream.begun).toBe(false);
    stream.writeBytes(Buffer.from("a"));
    expect(stream.begun).toBe(true);
    stream.end("finish");
    expect(Buffer.concat(await (await answer).toArray()).toString()).toBe("a");
  });

  it("reports how many bytes the client has not read, and when it has read everything", async () => {
    const { response, answer } = await exchange();
    const { stream } = streamOn(response);
    const message = await answer;
    const block = Buffer.alloc(1024 * 1024);
    let undrained = 0;
    while (undrained < 4 * block.length) undrained = stream.writeBytes(block);
    let drained = false;
    const waiting = stream.drained().then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    message.resume();
    await waiting;
    expect(response.writableLength).toBe(0);
    await stream.drained();
  });

  it("notifies its subscriber once when the client disconnects, and resolves every wait", async () => {
    const { response, answer, leave } = await exchange();
    const { stream, closed, ended } = streamOn(response);
    await answer;
    let undrained = 0;
    while (undrained < 4 * 1024 * 1024) undrained = stream.writeBytes(Buffer.alloc(1024 * 1024));
    const waiting = stream.drained();
    leave();
    await waiting;
    await once(response, "close");
    expect([closed(), ended()]).toEqual([1, 1]);
    expect(stream.writeBytes(Buffer.from("x"))).toBe(0);
    stream.end("finish");
    stream.end("abort");
    await stream.drained();
  });

  it("notifies a subscriber that is attached after the client has disconnected", async () => {
    const { response, leave } = await exchange();
    const stream = new EventStream(() => response.writeHead(200), null);
    response.on("close", () => stream.closed());
    leave();
    await once(response, "close");
    let closed = 0;
    stream.attach({ close: () => (closed += 1) });
    expect(closed).toBe(1);
    expect(response.headersSent).toBe(false);
  });

  it("is cut off at once by an abort, and can be finished only once", async () => {
    const { response, answer } = await exchange();
    const { stream, closed } = streamOn(response);
    const message = await answer;
    stream.writeBytes(Buffer.from("a"));
    stream.end("abort");
    await expect(message.toArray()).rejects.toMatchObject({ code: "ECONNRESET" });
    stream.end("finish");
    expect(closed()).toBe(1);
  });

  it("ignores writes after its end", async () => {
    const { response, answer } = await exchange();
    const { stream } = streamOn(response);
    stream.writeBytes(Buffer.from("a"));
    stream.end("finish");
    stream.end("finish");
    expect(stream.writeBytes(Buffer.from("b"))).toBe(0);
    expect(Buffer.concat(await (await answer).toArray()).toString()).toBe("a");
  });
});
