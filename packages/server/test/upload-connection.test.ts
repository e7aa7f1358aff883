// Reuses the connection of an upload. Not a black-box suite: on several nodes, those use each connection once.

import { randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { expect, it, onTestFinished } from "vitest";
import { useService } from "./black-box/server.ts";

const service = useService();

it.each([
  ["application/pdf", 415],
  ["image/png", 200],
])("stays usable when a file as %s gets %i", async (type, status) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const session = randomUUID();
  const ask = async (method: string, path: string, headers: object, body?: Buffer) =>
    await new Promise<number | undefined>((resolve, reject) => {
      const options = { agent, method, headers: { "X-Session-Id": session, ...headers } };
      const outgoing = request(new URL(path, service()), options, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode));
      });
      outgoing.once("error", reject).end(body);
    });
  // More than the server has read when it answers, and less than the buffers of the connection.
  const body = Buffer.concat([FILES.png, randomBytes(1024 * 1024)]);
  expect(await ask("POST", "/api/files", { "Content-Type": type }, body)).toBe(status);
  expect(await ask("GET", "/api/state", {})).toBe(200);
});
