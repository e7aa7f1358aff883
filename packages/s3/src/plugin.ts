// The file store plugin. Imports the S3 client on first use.

import { z } from "zod";
import { defineFileStore } from "@colloquy/engine/internal/core/plugins/file-store";

export const s3 = defineFileStore({
  name: "s3",
  version: "0.1.0",
  settings: z.strictObject({
    endpoint: z
      .url({ protocol: /^https?$/ })
      .describe(
        "URL of the bucket, such as `https://s3.eu-central-1.amazonaws.com/my-bucket` or `https://my-bucket.example.com`.",
      ),
    region: z.string().min(1).default("auto").describe("Region of the bucket, such as `eu-central-1`."),
    accessKeyId: z.string().min(1).describe("Access key. Keep it out of the file: `{{env.NAME}}`."),
    secretAccessKey: z.string().min(1).describe("Secret key. Keep it out of the file: `{{env.NAME}}`."),
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9/_-]*$/, "must be letters, digits, /, _ and -")
      .default("colloquy/")
      .describe("Beginning of the keys, if the bucket also has other data."),
  }),
  async open(settings, context) {
    const { openBucket } = await import("./bucket.ts");
    return await openBucket(settings, context);
  },
});
