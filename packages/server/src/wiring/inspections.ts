// Checks OpenAPI document files and custom tools before the service starts. Part of wiring, because config
// and tools must not import each other. Loads the readers only if they are needed.

import { createRequire } from "node:module";
import type { Inspected, Inspections } from "../config/apps.ts";
import type { OpenApiSettings } from "../core/app-settings.ts";
import { NEVER_CHECKED } from "../core/ports/driven/schema-check.ts";
import type { OpenApiDocument } from "../tools/openapi/document.ts";

export const inspections: Inspections = {
  async document(service) {
    const [{ baseUrl, readDocumentFile }, { writtenOperations }] = await Promise.all([
      import("../tools/openapi/document.ts"),
      import("../tools/openapi/operation.ts"),
    ]);
    let document: OpenApiDocument;
    try {
      document = await readDocumentFile(service.document, new AbortController().signal);
    } catch (error) {
      const message = `${service.document}: ${reasonOf(error)}`;
      return [{ path: ["document"], message, isWarning: false }];
    }
    const known = new Set(writtenOperations(document.content, () => undefined).map(({ id }) => id));
    const unknown = unknownOperations(service, known);
    try {
      // Configured URLs were already checked with the configuration.
      if (service.baseURL === null) baseUrl(null, document);
    } catch (error) {
      return [{ path: ["baseURL"], message: reasonOf(error), isWarning: false }, ...unknown];
    }
    return [...unknown, ...(await inspectTools(document, service, known))];
  },

  wallet() {
    try {
      createRequire(import.meta.url).resolve("viem");
      return null;
    } catch {
      return "needs the package viem, which is not installed: npm install viem";
    }
  },

  async ownTool(name, { description, inputSchema, execute }) {
    const [sdk, { readOwnTool }] = await Promise.all([import("ai"), import("../tools/own/own-tool.ts")]);
    try {
      const tool = { ...(description !== undefined && { description }), inputSchema, execute };
      await readOwnTool(name, tool, sdk);
      return null;
    } catch (error) {
      return `cannot be used. ${reasonOf(error)}`;
    }
  },
};

/** Returns problems for configured operations that the document does not have. */
function unknownOperations(
  { document: path, operations }: OpenApiSettings,
  known: ReadonlySet<string>,
): readonly Inspected[] {
  const unknown = [...(operations ?? []).entries()].filter(([, id]) => !known.has(id));
  return unknown.map(([index, id]) => ({
    path: ["operations", index],
    message: `${path} has no operation "${id}". ${offer([...known])}`,
    isWarning: false,
  }));
}

/** Reports existing operations that cannot be offered: problems for configured ones, warnings for the others. */
async function inspectTools(
  document: OpenApiDocument,
  service: OpenApiSettings,
  known: ReadonlySet<string>,
): Promise<readonly Inspected[]> {
  const { readTools } = await import("../tools/openapi/openapi-tools.ts");
  const { document: path, operations } = service;
  const there = operations?.filter((id) => known.has(id)) ?? null;
  const found: Inspected[] = [];
  readTools(
    "service",
    document,
    { ...service, operations: there },
    {
      outbound: { guardedFetch: () => Promise.reject(new Error("Nothing is called here.")) },
      scrub: (value) => value,
      schemas: NEVER_CHECKED.of(""),
      onOmitted(operation, reason, extent) {
        const index = operations?.indexOf(operation) ?? -1;
        found.push({
          path: index < 0 ? ["document"] : ["operations", index],
          message: `${path}${operation === "*" ? "" : `, ${operation}`}: ${reason}`,
          isWarning: extent === "part" || index < 0,
        });
      },
    },
  );
  return found;
}

/** Lists some known ids, because the id may be mistyped. */
function offer(known: readonly string[]): string {
  if (known.length === 0) return "It has none at all.";
  const shown = known.slice(0, 10).join(", ");
  return `It has ${known.length > 10 ? `${shown} and ${known.length - 10} more` : shown}.`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
