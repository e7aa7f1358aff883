import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startEdges, type TestEdge } from "./testing/edge.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const { testEdge } = await startEdges();

const FILES = {
  "../secret.html": "outside",
  "index.html": "<h1>Start</h1>",
  "404.html": "<h1>Not here</h1>",
  "guides/first-app.html": "<h1>First</h1>",
  "vp-icons.css": "a{}",
  ".hidden.html": "hidden",
  "assets/chunks/@search.a-1_B.js": "search()",
};

let folder: string;
let edge: TestEdge;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-guide-"));
  const guide = join(folder, "dist");
  for (const [name, content] of Object.entries(FILES)) {
    await mkdir(dirname(join(guide, name)), { recursive: true });
    await writeFile(join(guide, name), content);
  }
  edge = testEdge({}, { pages: { console: join(folder, "none"), guide } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("GET /guide", () => {
  it("redirects to the URL with the trailing slash, to which links are relative", async () => {
    const answer = await edge.app.inject("/guide");
    expect([answer.statusCode, answer.headers["location"]]).toEqual([308, "/guide/"]);
  });

  it.each([
    ["/guide/", FILES["index.html"]],
    ["/guide/guides/first-app", FILES["guides/first-app.html"]],
    ["/guide/guides/first-app.html", FILES["guides/first-app.html"]],
    ["/guide/guides/first-app?from=here", FILES["guides/first-app.html"]],
  ])("%s is a page, revalidated each time", async (url, text) => {
    const answer = await edge.app.inject(url);
    expect([answer.statusCode, answer.body]).toEqual([200, text]);
    expect(answer.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cross-origin-opener-policy": "same-origin",
    });
    expect(answer.headers).not.toHaveProperty("etag");
  });

  it("allows its pages scripts and styles of this server only", async () => {
    const policy = String((await edge.app.inject("/guide/")).headers["content-security-policy"]).split("; ");
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
      ]),
    );
    expect(policy.join()).not.toMatch(/https?:|\*|unsafe-eval/);
    expect(policy.filter((directive) => directive.includes("unsafe"))).toEqual([
      "style-src-attr 'unsafe-inline'",
    ]);
  });

  it("caches files with a hash in their name forever, and no others", async () => {
    const chunk = await edge.app.inject("/guide/assets/chunks/@search.a-1_B.js");
    expect([chunk.statusCode, chunk.body]).toEqual([200, "search()"]);
    expect(chunk.headers).toMatchObject({
      "content-type": "application/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
    });
    const icons = await edge.app.inject("/guide/vp-icons.css");
    expect([icons.statusCode, icons.headers["cache-control"]]).toEqual([200, "no-cache"]);
  });

  it.each([
    "/guide/nothing",
    "/guide/guides",
    "/guide/guides/",
    "/guide/assets/nothing.js",
    "/guide/.hidden",
    "/guide/../secret",
    "/guide/%2e%2e/secret",
    "/guide/..%2fsecret.html",
    "/guide/guides%2f..%2f..%2fsecret",
    "/guide//secret",
    "/guide/guides%5cfirst-app",
  ])("answers 404 to %s with a page or a problem", async (url) => {
    const answer = await edge.app.inject(url);
    expect(answer.statusCode).toBe(404);
    expect(answer.body).not.toMatch(/outside|hidden/);
    if (url.startsWith("/guide/../") || url.startsWith("/guide/%2e")) return;
    expect([answer.body, answer.headers["cache-control"]]).toEqual([FILES["404.html"], "no-cache"]);
  });

  it("explains where the pages are if the guide is not built, and serves it once it is", async () => {
    const late = join(folder, "late");
    const { app, send } = testEdge({}, { pages: { console: late, guide: late } });
    expect(expectProblem(await send("GET", "/guide/"), 404, "guide_not_built")).toContain("folder docs");
    await mkdir(late);
    await writeFile(join(late, "index.html"), FILES["index.html"]);
    expect((await app.inject("/guide/")).body).toBe(FILES["index.html"]);
  });

  it("is read-only, and rejects a foreign host like every other route", async () => {
    expectProblem(await edge.send("POST", "/guide/"), 405, "method_not_allowed");
    const answer = await edge.send("GET", "/guide/", { headers: { host: "evil.example" } });
    expectProblem(answer, 403, "host_not_allowed");
  });
});
