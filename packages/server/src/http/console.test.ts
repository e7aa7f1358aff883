import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startEdges, type TestEdge } from "./testing/edge.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const { testEdge } = await startEdges();

const PAGE = '<!doctype html><script type="module" src="./assets/index-abc.js"></script>';
const SCRIPT = "console.log('a script that is long enough to be asked for in parts');";

let folder: string;
let edge: TestEdge;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-console-"));
  const built = join(folder, "dist");
  await mkdir(join(built, "assets", "deeper"), { recursive: true });
  await mkdir(join(built, ".vite"));
  const files = {
    "../secret.txt": "outside",
    "index.html": PAGE,
    "assets/index-abc.js": SCRIPT,
    "assets/index-abc.js.gz": gzipSync(SCRIPT),
    "assets/index-abc.css": "body{}",
    "assets/.hidden.js": "hidden",
    ".vite/manifest.json": "{}",
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(built, name), content);
  edge = testEdge({}, { pages: { console: built, guide: built } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("GET /", () => {
  it("returns the page, which is revalidated each time", async () => {
    const answer = await edge.app.inject("/");
    expect([answer.statusCode, answer.body]).toEqual([200, PAGE]);
    expect(answer.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cross-origin-opener-policy": "same-origin",
    });
    expect(answer.headers).not.toHaveProperty("etag");
    expect(answer.headers).not.toHaveProperty("last-modified");
  });

  it("allows the page to load files from this server and to call this server, and nothing else", async () => {
    const policy = String((await edge.app.inject("/")).headers["content-security-policy"]);
    const directives = Object.fromEntries(
      policy.split("; ").map((directive) => [directive.split(" ", 1)[0], directive.replace(/^\S+ /, "")]),
    );
    expect(directives).toEqual({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "img-src": "'self' blob:",
      "connect-src": "'self'",
      "font-src": "'self'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
      "base-uri": "'none'",
      "require-trusted-types-for": "'script'",
      "trusted-types": "'none'",
    });
  });

  it("explains how to build a missing console, and serves it once it is built", async () => {
    const late = join(folder, "late");
    const { app, send } = testEdge({}, { pages: { console: late, guide: late } });
    expect(expectProblem(await send("GET", "/"), 404, "console_not_built")).toContain("npm run build");
    await mkdir(late);
    await writeFile(join(late, "index.html"), PAGE);
    expect((await app.inject("/")).body).toBe(PAGE);
  });

  it.each(["POST", "PUT", "DELETE"] as const)("answers 404 to %s", async (method) => {
    const answer = await edge.send(method, "/");
    expectProblem(answer, 405, "method_not_allowed");
    expect(answer.headers["allow"]).toBe("GET, HEAD, OPTIONS");
  });

  it("rejects a foreign host like every other route", async () => {
    for (const url of ["/", "/assets/index-abc.js"]) {
      const answer = await edge.send("GET", url, { headers: { host: "evil.example" } });
      expectProblem(answer, 403, "host_not_allowed");
    }
  });
});

describe("GET /assets/…", () => {
  it("returns files that are cached forever, with the page's security headers", async () => {
    const answer = await edge.app.inject("/assets/index-abc.js");
    expect([answer.statusCode, answer.body]).toEqual([200, SCRIPT]);
    expect(answer.headers).toMatchObject({
      "content-type": "application/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
      vary: "accept-encoding",
    });
  });

  it("compresses files if the client accepts it", async () => {
    const headers = { "accept-encoding": "gzip" };
    const answer = await edge.app.inject({ url: "/assets/index-abc.js", headers });
    expect(answer.headers).toMatchObject({
      "content-encoding": "gzip",
      "content-type": "application/javascript; charset=utf-8",
      vary: "accept-encoding",
    });
    expect(answer.rawPayload).toEqual(gzipSync(SCRIPT));
  });

  it("ignores Range, as RFC 9110 section 14.2 allows", async () => {
    for (const range of ["bytes=0-6", "bytes=900-", "bytes=0-1,3-4", "lines=1-2"]) {
      const answer = await edge.app.inject({ url: "/assets/index-abc.js", headers: { range } });
      expect([answer.statusCode, answer.body]).toEqual([200, SCRIPT]);
      expect(answer.headers).not.toHaveProperty("content-range");
    }
  });

  it.each(["/", "/assets/index-abc.js"])("HEAD %s has the headers of GET and no body", async (url) => {
    const [head, get] = [await edge.send("HEAD", url), await edge.send("GET", url)];
    expect([head.statusCode, head.body]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
    expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
  });

  it.each([
    "/assets/",
    "/assets",
    "/assets/deeper",
    "/assets/nothing.js",
    "/assets/index-ABC.js",
    "/assets/.hidden.js",
    "/index.html",
    "/.vite/manifest.json",
    "/assets/index-abc.js/",
  ])("answers %s with 404", async (url) => {
    const answer = await edge.send("GET", url);
    expectProblem(answer, 404, "route_not_found");
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it.each([
    "/assets/../index.html",
    "/assets/../../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/..%5c..%5csecret.txt",
    "/assets/....//....//secret.txt",
    "/assets//etc/passwd",
    "/assets/%2fetc%2fpasswd",
    "/assets/x%00.js",
  ])("%s stays inside the directory", async (url) => {
    const answer = await edge.send("GET", url);
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.statusCode).toBeLessThan(500);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.body).not.toMatch(/outside|root:|doctype/);
  });
});

it("hides no other route", async () => {
  const services = [];
  for (const url of ["/healthz", "/readyz", "/openapi.json", "/docs", "/api/state", "/metrics"]) {
    services.push((await edge.send("GET", url)).statusCode);
  }
  expect(services).toEqual([200, 200, 200, 200, 200, 200]);
  expectProblem(await edge.send("GET", "/api"), 404, "route_not_found");
});
