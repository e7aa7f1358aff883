// OpenAPI 3.1 from the validating schemas, and the page that renders it. Their plugins must be registered before the routes, so the
// routes are described again on an unreachable instance.

import { createHash } from "node:crypto";
import swagger from "@fastify/swagger";
import scalar from "@scalar/fastify-api-reference";
import Fastify from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { Registry } from "prom-client";
import { completeDocument } from "./openapi-document.ts";
import { allRoutes } from "./routes/all-routes.ts";
import type { HttpApp, RouteParts } from "./routes/route-parts.ts";
import { compileSerializer, compileValidator } from "./request.ts";

const ADMIN_KEY = {
  type: "http",
  scheme: "bearer",
  description: "`COLLOQUY_ADMIN_KEY` of the service",
} as const;

export interface Reference {
  /** The document, as JSON. */
  readonly document: Buffer;
  /** The page, served beside the document and one level above `docs/scalar.js`. */
  readonly page: string;
  /** Content-Security-Policy of the page: this server only. */
  readonly policy: string;
  /** The renderer's script. */
  readonly script: string;
}

export async function buildReference(parts: RouteParts, register: Registry): Promise<Reference> {
  const app: HttpApp = Fastify({ logger: false });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Colloquy",
        version: parts.version,
        description:
          "Holds conversations between people and assistants. `/api` is version 1: changes are additive only.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      tags: [
        { name: "Sessions", description: "Conversations, by the id in the path" },
        { name: "Conversation", description: "Talking, in the session of `X-Session-Id`" },
        { name: "Actions", description: "What waits for a person" },
        { name: "Secrets", description: "Values that tools need and no model sees" },
        { name: "Control", description: "Models and Apps" },
        { name: "Operations", description: "For those who run the service" },
        ...(parts.admin === null
          ? []
          : [{ name: "Administration", description: "For operators, with their key" }]),
      ],
      ...(parts.admin !== null && { components: { securitySchemes: { adminKey: ADMIN_KEY } } }),
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  await app.register(scalar, {
    routePrefix: "/docs",
    configuration: {
      url: "openapi.json",
      cdn: "docs/scalar.js",
      pageTitle: "Colloquy API",
      // No external requests: no fonts, proxy, telemetry or assistant.
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: "never",
      mcp: { disabled: true },
      agent: { disabled: true },
    },
  });
  await app.register(async (routes) => allRoutes(routes.withTypeProvider(), parts, register));
  await app.ready();
  const page = await app.inject("/docs/");
  const script = await app.inject("/docs/js/scalar.js");
  const document = Buffer.from(JSON.stringify(completeDocument(app.swagger())));
  await app.close();
  return { document, page: page.body, policy: pagePolicy(page.body), script: script.body };
}

/** Allows the page's own script by its digest; the renderer sets styles at run time. */
function pagePolicy(page: string): string {
  const inline = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(page)?.[1] ?? "";
  const digest = createHash("sha256").update(inline).digest("base64");
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
