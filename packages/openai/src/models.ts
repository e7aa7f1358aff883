// Routes of `/v1/models`: each App that the caller may use is a model, and so is each of its models, as
// `app/provider/model`.

import { ServiceError } from "@colloquy/engine";
import type { ProtocolApp } from "@colloquy/server/protocol";
import type { FastifyRequest } from "@colloquy/server/protocol";
import { z } from "zod";
import type { JsonObject } from "./json.ts";
import { answers, type App, type Parts, TAGS } from "./route-parts.ts";

export function modelRoutes(app: App, parts: Parts): void {
  const config = parts.served.accessOf({ session: "none", app: "opened", scope: "read" });
  const list = (request: FastifyRequest): JsonObject[] =>
    parts.context
      .apps(request)
      .filter(({ name }) => parts.served.names.has(name))
      .flatMap(modelsOf);
  app.get(
    "/v1/models",
    {
      config,
      schema: {
        operationId: "openaiModels",
        summary: "List the models",
        description: "Lists the Apps that the key opens, and their models as `app/provider/model`.",
        tags: TAGS,
        response: answers("Models"),
      },
    },
    (request) => ({ object: "list", data: list(request) }),
  );
  app.get(
    "/v1/models/:model",
    {
      config,
      schema: {
        operationId: "openaiModel",
        summary: "Get a model",
        tags: TAGS,
        params: z.object({
          model: z.string().meta({ description: "Id, percent-encoded", examples: ["default"] }),
        }),
        response: answers("The model"),
      },
    },
    (request) => {
      const { model: id } = request.params;
      const model = list(request).find((one) => one["id"] === id);
      if (model !== undefined) return model;
      const detail = `The model "${id.slice(0, 100)}" does not exist. GET /v1/models lists the models.`;
      throw new ServiceError(404, "model_not_found", detail);
    },
  );
}

function modelsOf({ name, models }: ProtocolApp): JsonObject[] {
  return [name, ...models.map((rig) => `${name}/${rig}`)].map((id) => ({
    id,
    object: "model",
    created: 0,
    owned_by: "colloquy",
  }));
}
