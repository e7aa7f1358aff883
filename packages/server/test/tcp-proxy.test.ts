import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { TcpProxy } from "./tcp-proxy.ts";

let server: Server;
let proxy: TcpProxy;
const sockets: Socket[] = [];

afterEach(async () => {
  await proxy.stop();
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

/** Connects a client and a server through a proxy; records what each receives. */
async function connect(wait?: (ms: number) => Promise<unknown>) {
  const accepted = Promise.withResolvers<Socket>();
  server = createServer((socket) => accepted.resolve(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = await TcpProxy.start((server.address() as AddressInfo).port, wait);
  const client = createConnection(proxy.port, "127.0.0.1");
  await once(client, "connect");
  const far = await accepted.promise;
  sockets.push(client, far);
  const heard = { client: "", server: "" };
  client.setEncoding("utf8").on("data", (text: string) => (heard.client += text));
  far.setEncoding("utf8").on("data", (text: string) => (heard.server += text));
  for (const socket of [client, far]) socket.on("error", () => undefined);
  return { client, far, heard };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

describe("a failing network", () => {
  it("pauses one direction, and delivers in order when resumed", async () => {
    const { client, far, heard } = await connect();
    proxy.hold("up");
    client.write("a");
    client.write("b");
    far.write("back");
    await until(() => heard.client === "back");
    expect(heard.server).toBe("");
    proxy.release("up");
    client.write("c");
    await until(() => heard.server.length === 3);
    expect(heard.server).toBe("abc");
  });

  it("delays without reordering", async () => {
    const [asked, passed] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
    const { client, far, heard } = await connect((ms) => {
      asked.resolve(ms);
      return passed.promise;
    });
    proxy.delayMs = 500;
    client.write("late ");
    expect(await asked.promise).toBeLessThanOrEqual(500);
    proxy.delayMs = 0;
    client.write("later");
    far.write("back");
    await until(() => heard.client === "back");
    expect(heard.server).toBe("");
    passed.resolve();
    await until(() => heard.server.length === 10);
    expect(heard.server).toBe("late later");
  });

  it("resets a connection, an error on both sides", async () => {
    const { client, far } = await connect();
    const errors = Promise.all([client, far].map((socket) => once(socket, "error")));
    proxy.reset();
    for (const [error] of await errors) expect((error as NodeJS.ErrnoException).code).toBe("ECONNRESET");
  });

  it("breaks all connections while broken, including new ones", async () => {
    const { far } = await connect();
    proxy.isBroken = true;
    proxy.cut();
    await once(far, "close");
    const late = createConnection(proxy.port, "127.0.0.1");
    sockets.push(late);
    expect(await text(late)).toBe("");
  });
});
