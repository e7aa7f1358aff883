import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance } from "fastify";
import type { JsonObject } from "@colloquy/engine/internal/core/json";

export interface PetsService {
  readonly url: string;
  /** Requests it received. */
  readonly seen: readonly JsonObject[];
}

/** A typical service: it validates its input, and its document is generated from the same schemas. */
export async function startPets(
  openapi: "3.0.3" | "3.1.0",
  closeLater: (close: () => unknown) => void,
): Promise<PetsService> {
  const seen: JsonObject[] = [];
  const service: FastifyInstance = Fastify();
  await service.register(swagger, { openapi: { openapi, info: { title: "Pets", version: "1" } } });
  service.addHook("preHandler", async (request) => {
    const { method, url, headers, body } = request;
    if (!url.startsWith("/v1/")) return;
    seen.push({ method, url, headers: { ...headers } as JsonObject, body: (body ?? null) as never });
  });
  addRoutes(service);
  service.get("/openapi.json", { schema: { hide: true } }, async () => service.swagger());
  await service.listen({ host: "127.0.0.1", port: 0 });
  closeLater(() => service.close());
  return { url: service.listeningOrigin, seen };
}

const ID = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } as const;
const PET = {
  type: "object",
  required: ["name"],
  properties: {
    id: { type: "integer" },
    name: { type: "string", minLength: 1 },
    tags: { type: "array", items: { type: "string" } },
  },
} as const;

function addRoutes(service: FastifyInstance): void {
  service.get(
    "/v1/pets",
    {
      schema: {
        operationId: "listPets",
        summary: "Lists pets.",
        querystring: {
          type: "object",
          properties: {
            limit: { type: "integer", maximum: 100 },
            tag: { type: "array", items: { type: "string" } },
          },
        },
        headers: {
          type: "object",
          properties: { "x-trace": { type: "string" }, authorization: { type: "string" } },
        },
      },
    },
    async (request) => ({ query: request.query }),
  );
  service.get("/v1/pets/:id", { schema: { params: ID } }, async (request, reply) => {
    const { id: number } = request.params as { id: number };
    if (number !== 1) return await reply.code(404).send({ error: `no pet ${number}` });
    return { id: number, name: "Ada" };
  });
  service.put(
    "/v1/pets/:id",
    { schema: { operationId: "put pet!", params: ID, body: PET } },
    async (request) => ({
      params: request.params,
      body: request.body,
    }),
  );
  service.post(
    "/v1/pets",
    { schema: { operationId: "addPet", body: PET } },
    async (request, reply) => await reply.code(201).send(request.body),
  );
  service.delete(
    "/v1/pets/:id",
    { schema: { operationId: "removePet", params: ID } },
    async (_, reply) => await reply.code(204).send(),
  );
}
