import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { RoundRobin } from "./round-robin.ts";

const servers: Server[] = [];
const agents: Agent[] = [];
let balancer: RoundRobin;
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await balancer.stop();
  for (const server of servers.splice(0)) server.close();
});

/** Starts servers that answer with their index. */
async function startServers(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let place = 0; place < count; place += 1) {
    const server = createServer((incoming, response) => {
      incoming.resume().once("end", () => response.end(String(place)));
    });
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    ports.push((server.address() as { readonly port: number }).port);
  }
  return ports;
}

async function ask(agent = new Agent({ keepAlive: true }), body = ""): Promise<string> {
  agents.push(agent);
  const outgoing = request({ agent, host: "127.0.0.1", port: balancer.port, method: "POST", path: "/" });
  const answered = once(outgoing, "response");
  outgoing.end(body);
  const [incoming] = await answered;
  return Buffer.concat(await incoming.toArray()).toString();
}

describe("RoundRobin", () => {
  it("sends each request with its own connection to the next server", async () => {
    balancer = await RoundRobin.start();
    balancer.targets = await startServers(3);
    const answers: string[] = [];
    for (let n = 0; n < 7; n += 1) answers.push(await ask(undefined, "x".repeat(100_000)));
    expect(answers.join("")).toBe("0120120");
    balancer.checkSpread();
  });

  it("reports that one server got more connections than the others", async () => {
    balancer = await RoundRobin.start();
    const [first = 0, second = 0] = await startServers(2);
    balancer.targets = [first];
    await ask();
    await ask();
    balancer.targets = [first, second];
    expect(() => balancer.checkSpread()).toThrow("Uneven spread: 2, 0 connections");
  });

  it("reports a connection with two requests", async () => {
    balancer = await RoundRobin.start();
    balancer.targets = await startServers(2);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await ask(agent)).toBe("0");
    expect(await ask(agent)).toBe("0");
    await ask();
    expect(() => balancer.checkSpread()).toThrow("Connections had 2 requests");
  });

  it("reports nothing without requests", async () => {
    balancer = await RoundRobin.start();
    balancer.targets = await startServers(2);
    expect(() => balancer.checkSpread()).not.toThrow();
  });
});
