// The whole API behind nginx, which serves it below a path prefix: `location /assistant/ { proxy_pass http://colloquy/; }`.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "@colloquy/client";
import { newSession } from "../black-box/client.ts";
import { Program } from "../black-box/server.ts";
import { isWithout } from "../programs.ts";
import { ROOT } from "./dockerfile.ts";
import { Nginx } from "./nginx.ts";

interface OpenApi {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

describe.skipIf(await isWithout("nginx"))("the API behind a path prefix", () => {
  let program: Program;
  let nginx: Nginx;
  let prefix: string;
  beforeAll(async () => {
    const admin = { COLLOQUY_ADMIN_KEY: "admin-key-of-the-prefix-test" };
    program = await Program.start(null, { ...admin, COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" });
    const settings = await readFile(join(ROOT, "deploy/nginx.conf"), "utf8");
    const { host } = new URL(program.url);
    const nodes = [1, 2, 3].map((node) => [`server node-${node}:8080 `, `server ${host} `] as const);
    const passed = "location / {\n      proxy_pass http://colloquy;";
    const below = "location /assistant/ {\n      proxy_pass http://colloquy/;";
    nginx = await Nginx.startWith(settings, [...nodes, [passed, below]]);
    prefix = `${nginx.url}/assistant`;
  });
  afterAll(async () => {
    await nginx.stop();
    await program.remove();
  });

  it("answers each operation at the server that the OpenAPI document names", async () => {
    const at = `${prefix}/openapi.json`;
    const document = (await (await fetch(at)).json()) as OpenApi;
    const base = new URL(document.servers[0]!.url, at).href;
    expect(base).toBe(`${prefix}/`);
    const answers = await Promise.all(
      Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map(async (method) => {
          const target = path.replaceAll(/\{\w+\}/g, newSession()).slice(1);
          const asked = { method: method.toUpperCase(), signal: AbortSignal.timeout(20_000) };
          const [behind, direct] = await Promise.all(
            [base, `${program.url}/`].map(async (url) => await fetch(new URL(target, url), asked)),
          );
          const codeOf = async (answer: Response) =>
            answer.ok ? null : ((await answer.json()) as { code: string }).code;
          const operation = `${method} ${path}`;
          const codes = [await codeOf(behind!), await codeOf(direct!)];
          return { operation, statuses: [behind!.status, direct!.status], codes };
        }),
      ),
    );
    expect(answers.length).toBeGreaterThan(30);
    for (const { operation, statuses, codes } of answers) {
      expect({ operation, status: statuses[0], code: codes[0] }).toEqual({
        operation,
        status: statuses[1],
        code: codes[1],
      });
      expect(codes[0]).not.toBe("route_not_found");
    }
  });

  it("holds a conversation with events, and lists its records page by page", async () => {
    const client = createClient({ baseUrl: prefix });
    const session = client.session();
    const texts: string[] = [];
    const stop = session.subscribe(() => texts.push(session.getConnection().state));
    const { messages } = await session.send("hello", { wait: true });
    expect(messages).toHaveLength(2);
    await expect.poll(() => texts).toContain("live");
    stop();
    let next: URL | null = new URL(`${prefix}/api/sessions/${session.id}/messages?limit=1`);
    const ids: string[] = [];
    while (next !== null) {
      const answer = await fetch(next);
      expect(answer.status).toBe(200);
      ids.push(...((await answer.json()) as { id: string }[]).map(({ id }) => id));
      const link = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
      next = link === undefined ? null : new URL(link, answer.url);
    }
    expect(ids).toEqual(messages.map(({ id }) => id));
  });

  it("tolerates a slash at the end of a path", async () => {
    const headers = { "X-Session-Id": newSession() };
    expect((await fetch(`${prefix}/api/state/`, { headers })).status).toBe(200);
  });

  it("shows its reference with the script beside it", async () => {
    const at = `${prefix}/docs`;
    const scripts = [...(await (await fetch(at)).text()).matchAll(/<script[^>]+src="([^"]+)"/g)];
    expect(scripts.length).toBeGreaterThan(0);
    for (const [, script = ""] of scripts) expect((await fetch(new URL(script, at))).status).toBe(200);
  });
});
