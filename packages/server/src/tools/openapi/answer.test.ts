import { describe, expect, it } from "vitest";
import { OutboundError } from "../outbound/outbound-error.ts";
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

  it("that is too large tells its status all the same", async () => {
    const body = (kind: "too_large" | "failed") =>
      new ReadableStream({
        pull(controller) {
          controller.error(new OutboundError(kind, "The answer of api.test is larger than 5 bytes."));
        },
      });
    expect(await answer(body("too_large"), null, 201)).toEqual({
      status: 201,
      body: "[Left out: The answer of api.test is larger than 5 bytes.]",
    });
    await expect(answer(body("failed"))).rejects.toThrow(OutboundError);
  });
});
