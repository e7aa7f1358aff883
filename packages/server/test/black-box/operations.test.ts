import { describe, expect, it } from "vitest";
import { z } from "zod";
import { chat, newSession, newWallet, send } from "./client.ts";
import { NODES } from "./processes.ts";
import { useService } from "./server.ts";

const url = useService();
const Document = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.looseObject({})) });

describe("operational endpoints", () => {
  it("report that the service is alive and ready", async () => {
    expect((await send(url(), "GET", "/healthz")).json()).toMatchObject({ status: "ok" });
    expect((await send(url(), "GET", "/readyz")).json()).toEqual({ status: "ready" });
  });

  it("count requests without naming anybody", async () => {
    // The first eight digits are letters, so that no number can contain them.
    const session = newSession().replace(/^.{8}/, "c01100a7");
    const wallet = newWallet();
    await chat(url(), session, "hello there");
    await send(url(), "POST", "/api/sessions", { session, json: { public_key: wallet } });
    // Each node counts its own answers.
    const answers = [];
    for (let node = 0; node < (NODES?.count ?? 1); node += 1)
      answers.push(await send(url(), "GET", "/metrics"));
    for (const { status, headers } of answers) {
      expect(status).toBe(200);
      expect(headers["content-type"]).toMatch(/^text\/plain/);
    }
    const text = answers.map((answer) => answer.text).join("");
    expect(text).toMatch(
      /^colloquy_http_requests_total\{method="POST",route="\/api\/chat",status="2xx"\} \d+$/m,
    );
    expect(text).toContain("process_resident_memory_bytes");
    for (const name of [session, session.slice(0, 8), wallet, "default"]) expect(text).not.toContain(name);
  });

  it("serve the documentation, whose page needs nothing but this server", async () => {
    const document = (await send(url(), "GET", "/openapi.json")).as(Document);
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        "/api/sessions",
        "/api/sessions/{id}",
        "/api/chat",
        "/api/state",
        "/api/interrupt",
        "/api/updates",
        "/api/control/model",
        "/api/control/models",
        "/api/control/apps",
      ]),
    );
    const page = await send(url(), "GET", "/docs");
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    for (const [, source = ""] of page.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
      expect(source).not.toMatch(/^(?:[a-z]+:)?\/\//);
      expect((await send(url(), "GET", `/${source}`)).status).toBe(200);
    }
  });
});
