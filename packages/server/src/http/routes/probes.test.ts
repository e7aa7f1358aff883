import { describe, expect, it } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { MODEL } from "../../../test/service.ts";
import { startEdges, WALLET } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const edges = await startEdges();

describe("GET /healthz", () => {
  it("reports that the process is alive, also while it stops", async () => {
    const edge = edges.testEdge();
    edge.stop();
    const answer = await edge.app.inject("/healthz");
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ status: "ok", version: manifest.version });
  });
});

describe("GET /readyz", () => {
  it("reports ready if there are no problems", async () => {
    const answer = await edges.testEdge().app.inject("/readyz");
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ status: "ready" });
  });

  it("gives 503 while the service stops", async () => {
    const edge = edges.testEdge();
    edge.stop();
    const answer = await edge.app.inject("/readyz");
    expect(expectProblem(answer, 503, "not_ready")).toContain("The service is stopping.");
    expect(answer.headers["retry-after"]).toBeDefined();
  });
});

describe("GET /metrics", () => {
  it("counts responses by route, method and class of status, without ids or names", async () => {
    const edge = edges.testEdge();
    await edge.send("POST", `/api/chat?message=hi&public_key=${WALLET}`);
    await edge.send("GET", "/api/state");
    await edge.send("GET", "/api/state");
    await edge.send("GET", "/api/state", { headers: { "if-none-match": "*" } });
    await edge.send("GET", "/api/sessions/{id}");
    await edge.send("GET", "/api/sessions/x");
    await edge.send("GET", "/nowhere/{id}");
    const answer = await edge.app.inject("/metrics");
    expect(answer.headers["content-type"]).toMatch(/^text\/plain/);
    const count = (method: string, route: string, status: string) =>
      `colloquy_http_requests_total{method="${method}",route="${route}",status="${status}"}`;
    expect(answer.body).toContain(`${count("POST", "/api/chat", "2xx")} 1\n`);
    expect(answer.body).toContain(`${count("GET", "/api/state", "2xx")} 2\n`);
    expect(answer.body).toContain(`${count("GET", "/api/state", "3xx")} 1\n`);
    expect(answer.body).toContain(`${count("GET", "/api/sessions/:id", "2xx")} 1\n`);
    expect(answer.body).toContain(`${count("GET", "/api/sessions/:id", "4xx")} 1\n`);
    expect(answer.body).toContain(`${count("any", "(none)", "4xx")} 1\n`);
    expect(answer.body).toContain("process_cpu_seconds_total");
    for (const name of [edge.session, WALLET, MODEL]) expect(answer.body).not.toContain(name);
  });

  it("measures the duration of responses", async () => {
    const edge = edges.testEdge();
    const { reached, open } = edges.gateAt("interrupt");
    const answering = edge.send("POST", "/api/interrupt");
    await reached;
    await edges.pass(30);
    open();
    await answering;
    const { body } = await edge.app.inject("/metrics");
    const labels = 'method="POST",route="/api/interrupt"';
    const name = "colloquy_http_request_duration_seconds";
    expect(body).toContain(`${name}_bucket{${labels},le="0.025"} 0\n`);
    expect(body).toContain(`${name}_bucket{${labels},le="0.1"} 1\n`);
    expect(body).toContain(`${name}_bucket{${labels},le="+Inf"} 1\n`);
    expect(body).toContain(`${name}_sum{${labels}} 0.03\n`);
    expect(body).toContain(`${name}_count{${labels}} 1\n`);
  });
});
