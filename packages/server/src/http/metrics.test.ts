import { METHODS } from "node:http";
import { tmpdir } from "node:os";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import { createHttpMetrics, NO_ROUTE } from "./metrics.ts";
import { startEdges } from "./testing/edge.ts";

const edges = await startEdges();

/** Number of series of an operation: four classes of status, seven buckets, a sum and a count. */
const SERIES_EACH = 4 + 7 + 2;
/** Maximum size of the page after every operation returned every class of status. */
const BYTES_MOST = 100 * 1024;

const STATUSES = Array.from({ length: 400 }, (_, index) => 200 + index);

/** Creates an edge with all routes. */
function wholeEdge() {
  return edges.testEdge({}, { pages: { console: tmpdir(), guide: tmpdir() }, hasAdmin: true });
}

function seriesOf(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("colloquy_http_"));
}

function operationsOf(text: string): Map<string, readonly [method: string, route: string]> {
  const found = [...text.matchAll(/method="([^"]*)",route="([^"]*)"/g)];
  return new Map(found.map(([both, method = "", route = ""]) => [both, [method, route]]));
}

describe("the metrics of requests", () => {
  it("are 0 for each operation from the start", async () => {
    const { body } = await wholeEdge().app.inject("/metrics");
    for (const [method, route] of [
      ["POST", "/api/chat"],
      ["GET", "/api/state"],
      ["DELETE", "/api/sessions/:id"],
      ["any", NO_ROUTE],
    ]) {
      const labels = `method="${method}",route="${route}"`;
      for (const status of ["2xx", "4xx", "5xx"])
        expect(body).toContain(`colloquy_http_requests_total{${labels},status="${status}"} 0\n`);
      expect(body).toContain(`colloquy_http_request_duration_seconds_count{${labels}} 0\n`);
    }
    expect(body).not.toContain('method="HEAD"');
  });

  it("have at most 13 series per operation, for any methods, paths, statuses and codes", async () => {
    const edge = wholeEdge();
    const { paths } = (await edge.app.inject("/openapi.json")).json<{ paths: Record<string, object> }>();
    const others = [
      "/",
      "/assets/index.js",
      "/openapi.json",
      "/docs",
      "/docs/scalar.js",
      "/guide",
      "/guide/",
    ];
    const madeUp = Array.from({ length: 10 }, (_, index) => `/made-up/${index}`);
    for (const url of [...Object.keys(paths), ...others, ...madeUp]) {
      for (const method of METHODS) await edge.app.inject({ method: method as "GET", url });
    }
    for (const status of STATUSES.filter((one) => one >= 400)) {
      edges.intercept(() => {
        throw new ServiceError(status, `code_${status}`, "It cannot be done.");
      });
      // `send` would check the responses against the document.
      const headers = { "x-session-id": edge.session };
      await edge.app.inject({ method: "POST", url: "/api/interrupt", headers });
    }
    const { body } = await edge.app.inject("/metrics");
    const operations = operationsOf(body);
    const documented = Object.values(paths).flatMap((path) => Object.keys(path));
    expect(operations.size).toBeGreaterThanOrEqual(documented.length);
    expect(operations.size).toBeLessThanOrEqual(documented.length + others.length + 1);
    expect([...operations.values()].filter(([, route]) => route === NO_ROUTE)).toEqual([["any", NO_ROUTE]]);
    expect(body).not.toMatch(/made-up|code_\d/);

    const register = new Registry();
    const metrics = createHttpMetrics(register);
    for (const [method, route] of operations.values()) {
      for (const status of STATUSES) metrics.answered(method, route, status, status);
    }
    const most = await register.metrics();
    expect(seriesOf(most)).toHaveLength(operations.size * SERIES_EACH);
    expect(most.length).toBeLessThanOrEqual(BYTES_MOST);
  });
});
