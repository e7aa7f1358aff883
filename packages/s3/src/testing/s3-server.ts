// Starts an S3 server with an empty bucket.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "s3rver";
import { S3mini } from "s3mini";

const KEYS = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };

export interface S3Server {
  /** Settings of the file store. */
  readonly settings: typeof KEYS & { readonly endpoint: string };
  /** Returns the keys of all objects, in order. */
  keys(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startS3(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-s3rver-"));
  const server = new S3rver({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: "files", configs: [] }],
  });
  const { port } = await server.run();
  const settings = { ...KEYS, endpoint: `http://127.0.0.1:${port}/files` };
  let isStopped = false;
  return {
    settings,
    async keys() {
      const objects = (await new S3mini(settings).listObjects()) ?? [];
      return objects.map(({ Key }) => Key).toSorted();
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}
