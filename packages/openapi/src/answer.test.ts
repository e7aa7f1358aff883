import { describe, expect, it } from "vitest";
import { OutboundError } from "@colloquy/engine/internal/tools/outbound/outbound-error";
import { Beginning } from "@colloquy/engine/internal/tools/scrubbed-beginning";
import { readAnswer } from "./openapi-tool.ts";

function answer(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream | null,
  type: string | null = "application/json",
  status = 200,
): Promise<unknown> {
  const response = new Response(body, { status });
  response.headers.delete("content-type");
  if (type !== null) response.headers.set("content-type", type);
  return readAnswer(response, "api.test");
}

describe("readAnswer", () => {
  it.each<[string, string | null, unknown]>([
    ['{"a":[1,null]}', "application/json", { a: [1, null] }],
    ['{"a":1}', "application/problem+json; charset=utf-8", { a: 1 }],
    ['{"a":1}', null, { a: 1 }],
    ["broken {", "application/json", "broken {"],
    ['{"a":1}', "text/plain", '{"a":1}'],
    ["<a/>", "application/xml", "<a/>"],
    ["plain", null, "plain"],
    ["", "application/json", null],
  ])("reads %j of the type %s as %j", async (body, type, expected) => {
    expect(await answer(body, type)).toEqual({ status: 200, body: expected });
  });

  it("returns a null body for an empty response", async () => {
    expect(await answer(null, null, 204)).toEqual({ status: 204, body: null });
  });

  it("describes a body that is not text", async () => {
    const bytes = new Uint8Array([0x89, 0x50, 0xff]);
    expect(await answer(bytes, "image/png")).toEqual({ status: 200, body: "[3 bytes of image/png]" });
    expect(await answer(bytes, null)).toEqual({ status: 200, body: "[3 bytes of an unknown type]" });
  });

  it("decodes the declared charset", async () => {
    expect(await answer(new Uint8Array([0xe4]), "text/plain; charset=ISO-8859-1")).toMatchObject({
      body: "ä",
    });
    expect(await answer(new Uint8Array([0xc3, 0xa4]), "text/plain; charset=nonsense")).toMatchObject({
      body: "ä",
    });
  });

  it("throws for a status from 400 on with the uncut body, which is scrubbed before it is cut", async () => {
    await expect(answer('{"error":"none"}', "application/json", 404)).rejects.toThrow(
      'api.test answered 404: {"error":"none"}',
    );
    await expect(answer("x".repeat(5_000), "text/plain", 500)).rejects.toThrow(
      /^api\.test answered 500: x{5000}$/,
    );
    await expect(answer(null, null, 401)).rejects.toThrow(/^api\.test answered 401\.$/);
  });

  describe("on a body that is too large", () => {
    /** Creates a body that errors after its first chunk. */
    const body = (begun: Uint8Array<ArrayBuffer>, kind: "too_large" | "failed" = "too_large") =>
      new ReadableStream({
        start: (controller) => controller.enqueue(begun),
        pull: (controller) => controller.error(new OutboundError(kind, "It is larger than 5 bytes.")),
      });
    const bytes = (text: string) => new Uint8Array(Buffer.from(text));

    it.each([
      ["text/plain", "text/plain"],
      ["no type", null],
    ])("returns the beginning of a text of %s, with its status", async (_case, type) => {
      const half = bytes("begun ä").slice(0, -1);
      const read = await answer(body(half), type, 201);
      expect(read).toBeInstanceOf(Beginning);
      expect(read).toEqual({ text: '{"status":201,"body":"begun "}', bytes: 7 });
    });

    it("describes a body that is not text", async () => {
      expect(await answer(body(bytes("PNG")), "image/png")).toEqual({
        status: 200,
        body: "[more than 3 bytes of image/png]",
      });
    });

    it("throws for a status from 400 on", async () => {
      await expect(answer(body(bytes("oh no")), "text/plain", 500)).rejects.toThrow(
        "api.test answered 500 with more than 5 bytes: oh no",
      );
    });

    it("rethrows the error of a broken connection", async () => {
      await expect(answer(body(bytes("x"), "failed"))).rejects.toThrow(OutboundError);
    });
  });
});
