// For runtimes that answer requests: the conversation is the answer.

import { createClient } from "@colloquy/client";
import { converse } from "./conversation.js";

// A client at the top of the module, where a Worker may neither send nor get random values.
createClient({ baseUrl: "https://chat.example.com" });

// What the runtime asks for.
// oxlint-disable-next-line import/no-default-export
export default {
  /** @param {Request} request */
  fetch(request) {
    const { readable, writable } = new TransformStream();
    const lines = writable.getWriter();
    const encoder = new TextEncoder();
    const tell = (/** @type {string} */ line) => void lines.write(encoder.encode(`${line}\n`));
    void converse(new URL(request.url).searchParams.get("service") ?? "", tell)
      .catch((error) => tell(JSON.stringify({ failed: String(error) })))
      .then(() => lines.close());
    return new Response(readable);
  },
};
