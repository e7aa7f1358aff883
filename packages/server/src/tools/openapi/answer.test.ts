import { describe, expect, it } from "vitest";
import { OutboundError } from "../outbound/outbound-error.ts";
import { Beginning } from "../scrubbed-beginning.ts";
import { readAnswer } from "./answer.ts";

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

describe("the answer of a service", () => {
  it.each<[string, string | null, unknown]>([
    ['{"a":[1,null]}', "application/json", { a: [1, null] }],
    ['{"a":1}', "application/problem+json; charset=utf-8", { a: 1 }],
    ['{"a":1}', null, { a: 1 }],
    ["broken {", "application/json", "broken {"],
    ['{"a":1}', "text/plain", '{"a":1}'],
    ["<a/>", "application/xml", "<a/>"],
    ["plain", null, "plain"],
    ["", "application/json", null],
  ])("%j of the type %s is told as %j", async (body, type, expected) => {
    expect(await answer(body, type)).toEqual({ status: 200, body: expected });
  });

  it("without a body is told by its status", async () => {
    expect(await answer(null, null, 204)).toEqual({ status: 204, body: null });
  });

  it("that is no text is described", async () => {
    const bytes = new Uint8Array([0x89, 0x50, 0xff]);
    expect(await answer(bytes, "image/png")).toEqual({ status: 200, body: "[3 bytes of image/png]" });
    expect(await answer(bytes, null)).toEqual({ status: 200, body: "[3 bytes of an unknown type]" });
  });

  it("is read in the letters it is written in", async () => {
    expect(await answer(new Uint8Array([0xe4]), "text/plain; charset=ISO-8859-1")).toMatchObject({
      body: "ä",
    });
    expect(await answer(new Uint8Array([0xc3, 0xa4]), "text/plain; charset=nonsense")).toMatchObject({
      body: "ä",
    });
  });

  it("from 400 on is an error with its status and all that it says: a cut would leave half a key in it", async () => {
    await expect(answer('{"error":"none"}', "application/json", 404)).rejects.toThrow(
      'api.test answered 404: {"error":"none"}',
    );
    await expect(answer("x".repeat(5_000), "text/plain", 500)).rejects.toThrow(
      /^api\.test answered 500: x{5000}$/,
    );
    await expect(answer(null, null, 401)).rejects.toThrow(/^api\.test answered 401\.$/);
  });

  describe("that is too large to be read", () => {
    /** A body of which so much comes before it ends with an error. */
    const body = (begun: Uint8Array<ArrayBuffer>, kind: "too_large" | "failed" = "too_large") =>
      new ReadableStream({
        start: (controller) => controller.enqueue(begun),
        pull: (controller) => controller.error(new OutboundError(kind, "It is larger than 5 bytes.")),
      });
    const bytes = (text: string) => new Uint8Array(Buffer.from(text));

    it.each([
      ["text/plain", "text/plain"],
      ["no type", null],
    ])("is a beginning where it is a text of %s, with its status", async (_case, type) => {
      const half = bytes("begun ä").slice(0, -1);
      const read = await answer(body(half), type, 201);
      expect(read).toBeInstanceOf(Beginning);
      expect(read).toEqual({ text: '{"status":201,"body":"begun "}', bytes: 7 });
    });

    it("is described where it is no text", async () => {
      expect(await answer(body(bytes("PNG")), "image/png")).toEqual({
        status: 200,
        body: "[more than 3 bytes of image/png]",
      });
    });

    it("is an error from 400 on", async () => {
      await expect(answer(body(bytes("oh no")), "text/plain", 500)).rejects.toThrow(
        "api.test answered 500 with more than 5 bytes: oh no",
      );
    });

    it("is not what breaks off", async () => {
      await expect(answer(body(bytes("x"), "failed"))).rejects.toThrow(OutboundError);
    });
  });
});
