// Real loopback RPC servers that are down, slow, wrong or flooding.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { Hidden } from "../../core/hidden.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { createWalletCaller, type WalletCaller } from "./testing/wallet-caller.ts";

const key = "k3y-0f-the-provider";
const address = "0x00000000000000000000000000000000000a11ce";
const servers: Server[] = [];

/** A manual clock on which sleeps end at once; real sockets take their own time. */
class PassingClock extends ManualClock {
  readonly pauses: number[] = [];

  override sleep(ms: number): Promise<void> {
    this.pauses.push(ms);
    return Promise.resolve();
  }
}

const clock = new PassingClock();

afterEach(async () => {
  clock.pauses.length = 0;
  await Promise.all(
    servers.splice(0).map(async (server) => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }),
  );
});

type Answer = (method: string, response: ServerResponse, request: IncomingMessage) => void;

async function startServer(answer: Answer): Promise<number> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
      answer(method, response, request);
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function callerAt(url: string): WalletCaller {
  const currency = { symbol: "ETH", decimals: 18 };
  return createWalletCaller(
    [{ id: 1, name: "Ethereum", rpcURL: new Hidden(url), currency, contracts: null }],
    clock,
  );
}

async function start(answer: Answer): Promise<WalletCaller> {
  return callerAt(`http://127.0.0.1:${await startServer(answer)}/v3/${key}?token=${key}-2`);
}

function result(response: ServerResponse, value: unknown): void {
  response
    .setHeader("content-type", "application/json")
    .end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: value }));
}

function failure(response: ServerResponse, error: object): void {
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error }));
}

/** Starts a server of chain 1 that returns `value` for every other method. */
function startAnswering(value: unknown): Promise<WalletCaller> {
  return start((method, response) => result(response, method === "eth_chainId" ? "0x1" : value));
}

/** Returns the message of the call's error. Fails if any printed form of the error contains the URL. */
async function failureOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(error instanceof Error)) throw new Error("The call did not fail.");
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const printed = `${cause.stack ?? ""} ${cause.message} ${JSON.stringify(cause)}`;
    expect(printed).not.toContain(key);
    expect(printed).not.toContain("127.0.0.1");
  }
  return error.message;
}

const balance = (caller: WalletCaller, signal?: AbortSignal): Promise<unknown> =>
  caller.call("wallet_balance", { address }, {}, signal);

describe("a chain's RPC server", () => {
  it("causes one error when it is down", async () => {
    const port = await startServer(() => {});
    const [server] = servers.splice(0);
    server!.close();
    await once(server!, "close");
    expect(await failureOf(balance(callerAt(`http://127.0.0.1:${port}/${key}`)))).toBe(
      "The RPC server of Ethereum (chain 1) cannot be reached (ECONNREFUSED).",
    );
  });

  it("times out after ten seconds without a response", async () => {
    const asked = Promise.withResolvers<void>();
    const call = balance(await start(() => asked.resolve()));
    call.catch(() => {});
    await asked.promise;
    await clock.advance(9_999);
    await clock.advance(1);
    expect(await failureOf(call)).toBe("The RPC server of Ethereum (chain 1) did not answer within 10 s.");
    expect(clock.timers).toBe(0);
  });

  it("times out after ten seconds within a response", async () => {
    const asked = Promise.withResolvers<void>();
    const call = balance(
      await start((_, response) => {
        response.write('{"jsonrpc":');
        asked.resolve();
      }),
    );
    call.catch(() => {});
    await asked.promise;
    await clock.advance(10_000);
    expect(await failureOf(call)).toContain("did not answer within 10 s");
  });

  it("is disconnected when the turn is aborted", async () => {
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const stop = new AbortController();
    const caller = await start((_, response) => {
      response.on("close", () => closed.resolve());
      asked.resolve();
    });
    const call = balance(caller, stop.signal);
    await Promise.all([
      asked.promise,
      expect(call).rejects.toBe("over"),
      asked.promise.then(() => stop.abort("over")),
    ]);
    await closed.promise;
    expect(clock.timers).toBe(0);
  });

  it("is rejected if it serves another chain", async () => {
    const caller = await start((_, response) => result(response, "0x7a69"));
    expect(await failureOf(balance(caller))).toBe(
      "The RPC server of Ethereum (chain 1) serves the chain 31337. The operator must correct its URL.",
    );
  });

  it("is asked for its chain id until it has responded once", async () => {
    const methods: string[] = [];
    const caller = await start((method, response) => {
      methods.push(method);
      result(response, methods.length === 1 ? null : "0x1");
    });
    expect(await failureOf(balance(caller))).toContain("does not say which chain it serves");
    await balance(caller);
    await balance(caller);
    expect(methods).toEqual(["eth_chainId", "eth_chainId", "eth_getBalance", "eth_getBalance"]);
  });

  it.each([[null], ["many"], [7], [{}], ["0x"], [`0x${"f".repeat(65)}`]])(
    "is rejected if it returns %j as a number",
    async (value) => {
      expect(await failureOf(balance(await startAnswering(value)))).toContain("an invalid number");
    },
  );

  it.each([["0x1"], ["text"], [5]])("is rejected if it returns %j as bytes", async (value) => {
    const call = (await startAnswering(value)).call("wallet_token_info", { token: address });
    expect(await failureOf(call)).toContain("invalid bytes");
  });

  it.each([["<html>"], [""], ["[]"], ["null"], ['{"jsonrpc":"2.0","id":1}']])(
    "is rejected if it responds with %j, which is not JSON-RPC",
    async (body) => {
      expect(await failureOf(balance(await start((_, response) => response.end(body))))).toContain(
        "not JSON-RPC",
      );
    },
  );

  it("is disconnected after 1 MiB", async () => {
    let written = 0;
    const caller = await start((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, "x"))) written += 65_536;
      };
      response.on("drain", more);
      more();
    });
    expect(await failureOf(balance(caller))).toBe(
      "The RPC server of Ethereum (chain 1) answered with more than 1 MiB.",
    );
    expect(written).toBeLessThan(64 * 1_024 * 1_024);
  });

  it("is disconnected after 1 MiB of decompressed bytes", async () => {
    const closed = Promise.withResolvers<void>();
    const caller = await start((_, response) => {
      response.once("close", () => closed.resolve());
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      // Never ends, so that only the limit does.
      response.write(gzipSync(" ".repeat(16_000_000)));
    });
    expect(await failureOf(balance(caller))).toBe(
      "The RPC server of Ethereum (chain 1) answered with more than 1 MiB.",
    );
    await closed.promise;
  });

  it("cannot redirect the request", async () => {
    let followed = false;
    const target = await startServer((_, response) => {
      followed = true;
      result(response, "0x1");
    });
    const caller = await start((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${target}/` }).end();
    });
    expect(await failureOf(balance(caller))).toContain("answered with the status 307");
    expect(followed).toBe(false);
  });

  it("cannot expose its URL and key in an error", async () => {
    const caller = await start((_, response, request) => {
      const message = `invalid project id ${key} at http://${request.headers.host}${request.url}`;
      failure(response, { code: -32_000, message });
    });
    expect(await failureOf(balance(caller))).toMatch(
      /^The RPC server of .* refuses eth_getBalance: invalid project id \[hidden\] at/,
    );
  });

  it("is retried once when it is busy", async () => {
    let attempts = 0;
    const caller = await start((method, response) => {
      attempts += 1;
      if (attempts === 1) response.writeHead(429).end();
      else result(response, method === "eth_chainId" ? "0x1" : "0x5");
    });
    expect(await balance(caller)).toMatchObject({ balance: { raw: "5" } });
    expect(attempts).toBe(3);
    expect(clock.pauses.splice(0)).toEqual([250]);
    attempts = 0;
    const busy = await start((_, response) => {
      attempts += 1;
      response.writeHead(503).end(key);
    });
    expect(await failureOf(balance(busy))).toContain("answered with the status 503");
    expect(attempts).toBe(2);
  });

  it("gets the user and password of its URL as a header", async () => {
    let header: string | undefined;
    const port = await startServer((_, response, request) => {
      header = request.headers.authorization;
      result(response, "0x1");
    });
    await balance(callerAt(`http://us%65r:${key}@127.0.0.1:${port}/`));
    expect(header).toBe(`Basic ${Buffer.from(`user:${key}`).toString("base64")}`);
  });

  it("does not prevent a transaction request when it is down, but does when it predicts a failure", async () => {
    const user = { publicKey: "0x00000000000000000000000000000000000b0b00" };
    const input = { to: address, value_wei: "5" };
    const broken = await start((_, response) => response.writeHead(500).end());
    expect(await broken.ask("wallet_request_transaction", input, user)).toMatchObject({
      request: { value: "5" },
    });
    const poor = await start((method, response) => {
      if (method === "eth_chainId") result(response, "0x1");
      else if (method === "eth_getBalance") result(response, "0x5");
      else failure(response, { code: -32_000, message: "insufficient funds for gas * price + value" });
    });
    expect(await poor.ask("wallet_request_transaction", input, user)).toBeNull();
    expect(await failureOf(poor.call("wallet_request_transaction", input, user))).toContain(
      "insufficient funds",
    );
  });
});
