// The transport plugin. Imports the NATS client on first use.

import { z } from "zod";
import { defineTransport } from "@colloquy/engine/internal/core/plugins/backend";
import { isPlainText, urlProblem } from "./url.ts";

export const nats = defineTransport({
  name: "nats",
  version: "0.1.0",
  settings: z.strictObject({
    url: z
      .string()
      .superRefine((text, { addIssue }) => {
        const message = urlProblem(text);
        if (message !== null) addIssue({ code: "custom", message });
      })
      .describe(
        "URL of a NATS server, such as `nats://user:password@nats.example.com:4222`, or several separated by commas. Keep it out of the file: `{{env.NAME}}`.",
      ),
  }),
  check({ url }, { nameOf, warn }) {
    if (!isPlainText(url)) return;
    warn(
      `${nameOf("url")} names another machine, and the connection is not encrypted: it carries conversations, password ` +
        "and token. Use tls:// instead of nats:// (docs/security.md).",
    );
  },
  async open({ url }, { cluster, clock, logger }) {
    const { NatsTransport } = await import("./transport.ts");
    return new NatsTransport({ url, namespace: cluster, clock, logger });
  },
  remedy:
    "Check that the server runs, that COLLOQUY_NATS_URL is right, and that its user may publish and subscribe to colloquy.>.",
});
