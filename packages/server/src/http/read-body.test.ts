// Bytes of bodies that arrive at the same time, over real connections.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { readAnswers, type RawAnswer } from "../../fuzz/http-reader.ts";
import { until } from "../../test/service.ts";
import { type EdgeChanges, startEdges, type TestEdge } from "./testing/edge.ts";

const CHAT = `{"message":"hello","ignored":"`;
const PROXY = { trustedProxies: ["127.0.0.1"] };

const edges = await startEdges();
let edge: TestEdge;
/** The server's end of each connection, in order. */
let accepted: Socket[];

async function listen(changes: EdgeChanges): Promise<void> {
  edge = edges.testEdge(changes);
  accepted = [];
  edge.app.server.on("connection", (socket: Socket) => accepted.push(socket));
  await edge.app.listen({ port: 0, host: "127.0.0.1" });
}
afterEach(async () => {
  edge.app.server.closeAllConnections();
  await edge.app.close();
});

/** A chat whose body has begun to arrive. */
class Upload {
  readonly #socket: Socket;
  readonly #server: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #isChunked: boolean;

  private constructor(socket: Socket, server: Socket, isChunked: boolean) {
    this.#socket = socket.on("error", () => {}).on("data", (chunk: Buffer) => this.#chunks.push(chunk));
    this.#server = server;
    this.#isChunked = isChunked;
  }

  /** `bytes` of the body are announced; chunked if `null`. */
  static async begin(bytes: number | null, from = "192.0.2.1"): Promise<Upload> {
    const { port } = edge.app.server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1" });
    const [server] = (await once(edge.app.server, "connection")) as [Socket];
    const framing = bytes === null ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes}`;
    const upload = new Upload(socket, server, bytes === null);
    const fields = ["Host: localhost", `X-Session-Id: ${randomUUID()}`, `X-Forwarded-For: ${from}`];
    await upload.#write(`POST /api/chat HTTP/1.1\r\n${fields.join("\r\n")}\r\n${framing}\r\n\r\n`);
    return upload;
  }

  /** Sends text of the body, until the server has read it. */
  async send(text: string): Promise<this> {
    await this.#write(this.#isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text);
    return this;
  }

  async answer(): Promise<RawAnswer> {
    await until(() => this.#answers().length > 0);
    return this.#answers()[0]!;
  }

  async abort(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.once("close", resolve));
    this.#socket.resetAndDestroy();
    await closed;
  }

  async #write(text: string): Promise<void> {
    const read = this.#server.bytesRead + text.length;
    this.#socket.write(text);
    await until(() => this.#server.bytesRead >= read || this.#server.destroyed);
  }

  #answers(): readonly RawAnswer[] {
    return readAnswers(Buffer.concat(this.#chunks), -1, false).answers;
  }
}

/** Sends a chat whose body has this many bytes. */
async function chat(bytes: number, from?: string): Promise<RawAnswer> {
  const upload = await Upload.begin(bytes, from);
  void upload.send(`${CHAT}${"x".repeat(bytes - CHAT.length - 2)}"}`);
  return await upload.answer();
}

function codeOf({ body }: RawAnswer): string {
  return (JSON.parse(body.toString()) as { readonly code?: string }).code ?? "";
}

it("refuses a body whose announced length exceeds the limit of its route, before any of it arrives", async () => {
  await listen({});
  const refused = await (await Upload.begin(300_000)).answer();
  expect([refused.status, codeOf(refused)]).toEqual([413, "body_too_large"]);
  expect(refused.body.toString()).toContain("Send at most 256 KiB");
});

describe("bodies of one address that arrive at the same time", () => {
  const LIMITED = { ...PROXY, rateLimits: { bodyBytesPerAddress: 100_000 } };

  it("are refused with 429 beyond its bytes, before they are read, and those of others are not", async () => {
    await listen(LIMITED);
    await Upload.begin(90_000);
    const refused = await (await Upload.begin(20_000)).answer();
    expect([refused.status, codeOf(refused)]).toEqual([429, "rate_limited"]);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(refused.headers.get("connection")).toBe("close");
    expect((await chat(10_000)).status).toBe(200);
    expect((await chat(90_000, "192.0.2.2")).status).toBe(200);
  });

  it("count as they arrive if their length is unknown", async () => {
    await listen(LIMITED);
    const chunked = await Upload.begin(null);
    expect((await chat(90_000)).status).toBe(200);
    await chunked.send(CHAT + "x".repeat(30_000));
    expect((await chat(90_000)).status).toBe(429);
    const other = await Upload.begin(60_000);
    await chunked.send("x".repeat(30_000));
    expect((await chunked.answer()).status).toBe(429);
    expect(
      await other.send(`${CHAT}${"x".repeat(60_000 - CHAT.length - 2)}"}`).then((one) => one.answer()),
    ).toMatchObject({ status: 200 });
  });

  it("are refused with 413 when they exceed what the operation accepts, also if their length is unknown", async () => {
    await listen(LIMITED);
    expect((await chat(300_000)).status).toBe(413);
    const chunked = await Upload.begin(null);
    void chunked.send(CHAT + "x".repeat(300_000));
    const refused = await chunked.answer();
    expect([refused.status, codeOf(refused)]).toEqual([413, "body_too_large"]);
  });

  it("give their bytes back when they end: answered, refused or aborted", async () => {
    await listen(LIMITED);
    for (let round = 0; round < 5; round += 1) {
      await (await Upload.begin(90_000)).abort();
      await (await (await Upload.begin(90_000)).send(CHAT)).abort();
      await (await (await Upload.begin(null)).send("x".repeat(50_000))).abort();
      expect((await chat(90_000)).status).toBe(200);
      expect((await chat(300_000)).status).toBe(413);
    }
    const one = await Upload.begin(90_000);
    expect((await chat(20_000)).status).toBe(429);
    await one.abort();
    expect((await chat(90_000)).status).toBe(200);
  });

  it("pass in any size if there is no other, and are not limited on a loopback bind", async () => {
    await listen({ ...PROXY, rateLimits: { bodyBytesPerAddress: 10 } });
    expect((await chat(90_000)).status).toBe(200);
    edge.app.server.closeAllConnections();
    await edge.app.close();
    await listen({ rateLimits: { bodyBytesPerAddress: 10 } });
    await Upload.begin(90_000);
    expect((await chat(90_000)).status).toBe(200);
  });
});

describe("bodies of all addresses that arrive at the same time", () => {
  it("are refused with 503 beyond the bytes in all, and those over 64 KiB beyond three quarters", async () => {
    await listen({ bodyBytes: 200_000 });
    const first = await (await Upload.begin(150_000)).send(CHAT + "x".repeat(100_000));
    const refused = await chat(90_000);
    expect([refused.status, codeOf(refused)]).toEqual([503, "too_many_bodies"]);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect((await chat(60_000)).status).toBe(200);
    await (await Upload.begin(60_000)).send("x".repeat(50_000));
    expect((await chat(60_000)).status).toBe(503);
    await first.send(`${"x".repeat(150_000 - CHAT.length - 100_002)}"}`);
    // It was over three quarters when it grew.
    expect((await first.answer()).status).toBe(503);
    expect((await chat(60_000)).status).toBe(200);
  });

  it("do not count what is announced and never arrives", async () => {
    await listen({ bodyBytes: 200_000 });
    for (let count = 0; count < 4; count += 1) await (await Upload.begin(200_000)).send(CHAT);
    expect((await chat(90_000)).status).toBe(200);
  });

  it("pass in any size if there is no other", async () => {
    await listen({ bodyBytes: 1 });
    expect((await chat(90_000)).status).toBe(200);
  });
});
