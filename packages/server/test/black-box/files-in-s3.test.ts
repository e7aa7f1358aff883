// Files in a bucket, with the program.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Attachment } from "@colloquy/protocol";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { startS3 } from "@colloquy/s3/internal/testing/s3-server";
import { afterEach, expect, it } from "vitest";
import { newSession, send, state } from "./client.ts";
import { Program } from "./server.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

it("are in the bucket only, and outlive a killed process", async () => {
  const bucket = await startS3();
  cleanups.push(() => bucket.stop());
  const { endpoint } = bucket.settings;
  const files = { kind: "s3", endpoint, accessKeyId: "{{env.S3_ID}}", secretAccessKey: "{{env.S3_KEY}}" };
  const { accessKeyId: S3_ID, secretAccessKey: S3_KEY } = bucket.settings;
  const program = await Program.start(
    { files, apps: { default: { models: ["demo/assistant"] } } },
    { S3_ID, S3_KEY },
  );
  cleanups.push(() => program.remove());
  const session = newSession();
  const headers = { "Content-Type": "image/png" };
  const uploaded = await send(program.url, "POST", "/api/files", { session, body: FILES.png, headers });
  expect(uploaded.status).toBe(200);
  const { id } = uploaded.as(Attachment);
  const json = { message: "hello", attachments: [id] };
  expect((await send(program.url, "POST", "/api/chat", { session, json })).status).toBe(200);
  await program.stop("SIGKILL");
  await program.run();
  expect(await bucket.keys()).toEqual([expect.stringMatching(/^colloquy\/default\/[0-9a-f-]{36}$/)]);
  const data = join(program.directory, "data");
  expect(await readdir(data)).not.toContain("files");
  expect(await readdir(join(data, "spool"))).toEqual([]);
  const { messages } = await state(program.url, session);
  expect(messages[0]?.attachments).toMatchObject([{ id }]);
  const answer = await fetch(`${program.url}/api/files/${id}`, {
    headers: { "X-Session-Id": session, Range: "bytes=0-3" },
  });
  expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([206, FILES.png.subarray(0, 4)]);
});
