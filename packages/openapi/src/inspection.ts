// Checks the OpenAPI document of a configured service before the start.

import { access } from "node:fs/promises";
import { messageOf, type SourceFindings } from "@colloquy/engine/tool-source";
import { baseUrl, type OpenApiDocument, readDocumentFile } from "./document.ts";
import { readTools } from "./openapi-tools.ts";
import { writtenOperations } from "./operation.ts";
import type { OpenApiSettings } from "./settings.ts";

type Findings = Pick<SourceFindings, "problem" | "warn">;

export async function inspectDocument(settings: OpenApiSettings, findings: Findings): Promise<void> {
  const { document: path } = settings;
  try {
    await access(path);
  } catch {
    return findings.problem(["document"], `There is no file at ${path}.`);
  }
  let document: OpenApiDocument;
  try {
    document = await readDocumentFile(path, new AbortController().signal);
  } catch (error) {
    return findings.problem(["document"], `${path}: ${messageOf(error)}`);
  }
  const operationIds = new Set(writtenOperations(document.content, () => undefined).map(({ id }) => id));
  try {
    // A configured URL was already checked with the configuration.
    if (settings.baseURL === null) baseUrl(null, document);
  } catch (error) {
    findings.problem(["baseURL"], messageOf(error));
    return reportUnknown(settings, operationIds, findings);
  }
  reportUnknown(settings, operationIds, findings);
  inspectTools(document, settings, operationIds, findings);
}

/** Reports configured operations that are missing from the document. */
function reportUnknown(
  { document: path, operations }: OpenApiSettings,
  operationIds: ReadonlySet<string>,
  { problem }: Findings,
): void {
  for (const [index, id] of (operations ?? []).entries()) {
    if (!operationIds.has(id))
      problem(["operations", index], `${path} has no operation "${id}". ${suggest([...operationIds])}`);
  }
}

/** Reports operations that cannot become tools: problems for configured ones, warnings for the others. */
function inspectTools(
  document: OpenApiDocument,
  settings: OpenApiSettings,
  operationIds: ReadonlySet<string>,
  { problem, warn }: Findings,
): void {
  const { document: path, operations } = settings;
  const existing = operations?.filter((id) => operationIds.has(id)) ?? null;
  readTools(
    "service",
    document,
    { ...settings, operations: existing },
    {
      outbound: { guardedFetch: () => Promise.reject(new Error("Nothing is called here.")) },
      scrub: (value) => value,
      onOmitted(operation, reason, extent) {
        const index = operations?.indexOf(operation) ?? -1;
        const message = `${path}${operation === "*" ? "" : `, ${operation}`}: ${reason}`;
        if (index < 0) warn(["document"], message);
        else if (extent === "part") warn(["operations", index], message);
        else problem(["operations", index], message);
      },
    },
  );
}

/** Suggests existing ids, because the configured one may be mistyped. */
function suggest(operationIds: readonly string[]): string {
  if (operationIds.length === 0) return "It has no operations.";
  const shown = operationIds.slice(0, 10).join(", ");
  return `It has ${operationIds.length > 10 ? `${shown} and ${operationIds.length - 10} more` : shown}.`;
}
