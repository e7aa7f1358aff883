// Files of sessions. `npm run test:nodes` also runs this file against three nodes.

import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { Attachment } from "@colloquy/protocol";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { describe, expect, it } from "vitest";
import { expectProblem, newSession, send, state, type Call } from "./client.ts";
import { useService } from "./server.ts";

const service = useService();
const MIB = 1024 * 1024;

/** A PNG followed by this many bytes. */
const png = (more = 0) => Buffer.concat([FILES.png, randomBytes(more)]);
const upload = (session: string, body: Buffer, type = "image/png", query = "", call: Call = {}) =>
  send(service(), "POST", `/api/files${query}`, {
    session,
    body,
    ...call,
    headers: { "Content-Type": type, ...call.headers },
  });
async function uploaded(session: string, body: Buffer, type?: string, query?: string) {
  const answer = await upload(session, body, type, query);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.as(Attachment);
}
const say = (session: string, message: string, attachments: readonly string[], more: object = {}) =>
  send(service(), "POST", "/api/chat", {
    session,
    json: { message, attachments, ...more },
    headers: { Prefer: "wait=20" },
  });

/** Uploads a file in chunks, without a Content-Length. */
function inChunks(session: string, body: Buffer) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const headers = { "X-Session-Id": session, "Content-Type": "image/png", "Transfer-Encoding": "chunked" };
    const outgoing = request(
      `${service()}/api/files`,
      { method: "POST", headers, agent: false },
      (answer) => {
        answer
          .toArray()
          .then(
            (chunks) => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
            reject,
          );
      },
    );
    outgoing.once("error", reject);
    for (let from = 0; from < body.length; from += 65_536) outgoing.write(body.subarray(from, from + 65_536));
    outgoing.end();
  });
}

/** Downloads a file without decoding it. */
function download(session: string, id: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const url = `${service()}/api/files/${id}`;
      const outgoing = request(
        url,
        { headers: { "X-Session-Id": session, ...headers }, agent: false },
        (answer) => {
          answer.toArray().then(
            (chunks) =>
              resolve({
                status: answer.statusCode ?? 0,
                headers: answer.headers,
                body: Buffer.concat(chunks as Buffer[]),
              }),
            reject,
          );
        },
      );
      outgoing.once("error", reject).end();
    },
  );
}

describe("POST /api/files", () => {
  it("stores a file that the session can download", async () => {
    const session = newSession();
    const bytes = png(200_000);
    const file = await uploaded(session, bytes, "image/png", "?name=bridge.png");
    expect(file).toEqual({
      id: expect.any(String),
      media_type: "image/png",
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      name: "bridge.png",
    });
    const answer = await download(session, file.id.toUpperCase());
    expect(answer.body.equals(bytes)).toBe(true);
    expect(answer.headers).toMatchObject({
      "content-type": "image/png",
      "content-length": String(bytes.length),
      "content-disposition": `attachment; filename="bridge.png"; filename*=UTF-8''bridge.png`,
      "x-content-type-options": "nosniff",
      "accept-ranges": "bytes",
      etag: `"${file.sha256}"`,
    });
  });

  it("stores a chunked body without a Content-Length", async () => {
    const session = newSession();
    const answer = await inChunks(session, png(1_000));
    expect(Attachment.parse(JSON.parse(answer.text)).bytes).toBe(FILES.png.length + 1_000);
  });

  it("accepts names in any language, and strips directories", async () => {
    const session = newSession();
    const name = encodeURIComponent('../a "b" 中文 🫖.png');
    const file = await uploaded(session, png(), "image/png", `?name=${name}`);
    expect(file.name).toBe('a "b" 中文 🫖.png');
    const { headers } = await download(session, file.id);
    expect(headers["content-disposition"]).toBe(
      `attachment; filename="a _b_ __ __.png"; filename*=UTF-8''a%20%22b%22%20%E4%B8%AD%E6%96%87%20%F0%9F%AB%96.png`,
    );
    expect((await uploaded(session, png())).name).toBe("image.png");
  });

  it("serves all text types as text/plain", async () => {
    const session = newSession();
    const text = Buffer.from("<script>alert(1)</script>");
    const file = await uploaded(session, text, "text/markdown", "?name=x.md");
    expect(file.media_type).toBe("text/markdown");
    const { headers } = await download(session, file.id);
    expect(headers).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      "content-security-policy": "default-src 'none'; sandbox",
    });
  });

  it("rejects empty, mistyped, binary, and large files", async () => {
    const session = newSession();
    expectProblem(await upload(session, Buffer.alloc(0)), 400, "file_empty");
    expectProblem(await upload(session, FILES.jpeg), 415, "file_type_differs");
    expectProblem(await upload(session, FILES.heic, "image/heic"), 415, "file_type_unsupported");
    expectProblem(
      await upload(session, Buffer.from("<svg/>"), "image/svg+xml"),
      415,
      "file_type_unsupported",
    );
    expectProblem(await upload(session, Buffer.from("<html>"), "text/html"), 415, "file_type_unsupported");
    expectProblem(await upload(session, Buffer.from("a\0b"), "text/plain"), 415, "file_not_text");
    const late = Buffer.concat([Buffer.alloc(100_000, "a"), Buffer.from([0xff])]);
    expectProblem(await upload(session, late, "text/plain"), 415, "file_not_text");
    expectProblem(await upload(session, png(20 * MIB)), 413, "file_too_large");
    expect(await inChunks(session, png(20 * MIB))).toMatchObject({
      status: 413,
      text: expect.stringContaining("file_too_large"),
    });
    expectProblem(await upload(session, png(), "image/png", `?name=${"x".repeat(1_001)}`), 400);
    expectProblem(await send(service(), "POST", "/api/files", { body: png() }), 400, "session_id_missing");
    expect((await state(service(), session)).messages).toEqual([]);
  });

  it("stores nothing of an aborted upload", async () => {
    const session = newSession();
    const { hostname, port } = new URL(service());
    const broken = request({
      hostname,
      port,
      method: "POST",
      path: "/api/files",
      headers: { "X-Session-Id": session, "Content-Type": "image/png", "Content-Length": 100_000 },
      agent: false,
    });
    broken.on("error", () => undefined);
    await new Promise<void>((resolve) => broken.write(png(50_000), () => resolve()));
    broken.destroy();
    const file = await uploaded(session, png(10));
    expect((await download(session, file.id)).status).toBe(200);
  });
});

describe("attachments of a message", () => {
  it("are included in snapshots, records and events of the message", async () => {
    const session = newSession();
    const files = [await uploaded(session, png(1)), await uploaded(session, FILES.pdf, "application/pdf")];
    const ids = files.map(({ id }) => id);
    const answer = await say(session, "look", ids);
    expect(answer.json()).toMatchObject({ messages: [{ content: "look", attachments: files }, {}] });
    const records = await send(service(), "GET", `/api/sessions/${session}/messages`);
    expect(records.json()).toMatchObject([{ attachments: files }, {}]);
    const again = await say(session, "again", ids.toReversed());
    expect(again.json()).toMatchObject({
      messages: [{}, {}, { attachments: files.toReversed() }, {}],
    });
  });

  it("require no text, and provide the title of a conversation that begins without text", async () => {
    const session = newSession();
    const { id } = await uploaded(session, png(), "image/png", "?name=bridge.png");
    const answer = await say(session, "", [id]);
    expect(answer.json()).toMatchObject({ title: "bridge.png", messages: [{ content: "" }, {}] });
    expectProblem(await say(session, "", []), 400, "message_blank");
  });

  it("are rejected if they belong to another session, exceed ten, or are repeated", async () => {
    const [session, other] = [newSession(), newSession()];
    const { id } = await uploaded(other, png());
    expectProblem(await say(session, "look", [id]), 400, "attachment_not_found");
    expectProblem(await say(other, "look", [id, id]), 400);
    expectProblem(await say(other, "look", ["x"]), 400);
    expectProblem(await say(other, "look", Array.from({ length: 11 }, newSession)), 400);
    expect((await say(other, "look", [id.toUpperCase()])).status).toBe(200);
  });

  it("survive an edit and a fork", async () => {
    const [session, copy] = [newSession(), newSession()];
    const { id } = await uploaded(session, png());
    await say(session, "look", [id]);
    const [question] = (await state(service(), session)).messages;
    await say(session, "look closer", [id], { replaces: question?.id });
    const forked = await send(service(), "POST", `/api/sessions/${session}/fork`, {
      json: { session_id: copy },
    });
    expect(forked.status).toBe(200);
    expect((await state(service(), copy)).messages[0]?.attachments?.[0]?.id).toBe(id);
    await send(service(), "DELETE", `/api/sessions/${session}`);
    expect((await download(copy, id)).status).toBe(200);
    expect((await download(session, id)).status).toBe(404);
  });

  it("are stored once if the chat is repeated", async () => {
    const session = newSession();
    const { id } = await uploaded(session, png());
    const key = { headers: { "Idempotency-Key": newSession() } };
    const chat = (attachments: readonly string[]) =>
      send(service(), "POST", "/api/chat", { session, json: { message: "look", attachments }, ...key });
    expect((await chat([id])).status).toBe(200);
    expect((await chat([id])).status).toBe(200);
    expectProblem(await chat([]), 409, "idempotency_key_reused");
    expect((await state(service(), session)).messages.filter(({ sender }) => sender === "user")).toHaveLength(
      1,
    );
  });
});

describe("GET /api/files/{id}", () => {
  it("serves ranges, as media players request them", async () => {
    const session = newSession();
    const bytes = png(10_000);
    const size = bytes.length;
    const { id, sha256 } = await uploaded(session, bytes);
    const part = (range: string, more = {}) => download(session, id, { Range: range, ...more });
    for (const [range, first, last] of [
      ["bytes=0-1", 0, 1],
      ["bytes=100-", 100, size - 1],
      ["bytes=-50", size - 50, size - 1],
      [`bytes=0-${size * 2}`, 0, size - 1],
      [`bytes=-${size * 2}`, 0, size - 1],
    ] as const) {
      const answer = await part(range);
      expect([answer.status, answer.headers["content-range"]]).toEqual([
        206,
        `bytes ${first}-${last}/${size}`,
      ]);
      expect(answer.body.equals(bytes.subarray(first, last + 1))).toBe(true);
    }
    for (const whole of ["bytes=0-1,5-6", "bytes=5-1", "lines=1-2", "bytes=-", "bytes=x"])
      expect([whole, (await part(whole)).status]).toEqual([whole, 200]);
    for (const beyond of [`bytes=${size}-`, "bytes=-0"]) {
      const answer = await part(beyond);
      expect([answer.status, answer.headers["content-range"]]).toEqual([416, `bytes */${size}`]);
    }
    expect((await part("bytes=0-1", { "If-Range": `"${sha256}"` })).status).toBe(206);
    expect((await part("bytes=0-1", { "If-Range": '"other"' })).status).toBe(200);
    expect((await download(session, id, { "If-None-Match": `"${sha256}"` })).status).toBe(304);
  });

  it("responds with 404 for files of other sessions", async () => {
    const { id } = await uploaded(newSession(), png());
    const url = service();
    expectProblem(
      await send(url, "GET", `/api/files/${id}`, { session: newSession() }),
      404,
      "file_not_found",
    );
    const session = newSession();
    await uploaded(session, png());
    expectProblem(await send(url, "GET", `/api/files/${id}`, { session }), 404, "file_not_found");
    expectProblem(await send(url, "GET", "/api/files/x", { session }), 400);
  });

  it("responds with 404 after the session is deleted", async () => {
    const session = newSession();
    const { id } = await uploaded(session, png());
    await send(service(), "DELETE", `/api/sessions/${session}`);
    expect((await download(session, id)).status).toBe(404);
    await send(service(), "POST", "/api/sessions", { session });
    expect((await download(session, id)).status).toBe(404);
  });
});
