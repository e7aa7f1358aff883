// A protocol of a plugin, whose routes the matrix walks like those of the service.

import { z } from "zod";
import { defineProtocol } from "../../src/http/protocol.ts";

export const echoProtocol = defineProtocol({
  name: "echo",
  version: "1.0.0",
  create: (_settings, { conversation }) => ({
    routes(app) {
      const answer = z.object({ title: z.string(), messages: z.array(z.string()) });
      const schema = { tags: ["Conversation"], response: { 200: answer.meta({ description: "Texts" }) } };
      app.post(
        "/echo/chat",
        {
          config: {
            access: { session: "header", app: "body", scope: "chat", creates: true, counted: "caller" },
          },
          schema: {
            ...schema,
            operationId: "echoChat",
            summary: "Send a message",
            body: z.object({ app: z.string(), text: z.string() }),
          },
        },
        async (request) => {
          const { app: name, text } = request.body;
          const named = conversation(request, { app: name });
          await named.send({ text });
          return { title: "", messages: [text] };
        },
      );
      app.get(
        "/echo/:id",
        {
          config: { access: { session: "path", app: "session", scope: "read" } },
          schema: {
            ...schema,
            operationId: "echoState",
            summary: "Get the texts",
            params: z.object({ id: z.uuid() }),
          },
        },
        async (request) => {
          const { title, messages } = await conversation(request).snapshot();
          return { title, messages: messages.map(({ content }) => content) };
        },
      );
    },
  }),
});
