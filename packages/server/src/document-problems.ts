// What is wrong with an OpenAPI document that is a file, told before the service starts. It stands here because neither the configuration
// nor the tools may know the other.

import type { InspectDocument } from "./config/apps.ts";

/** Never rejects. The parser of documents is loaded by those alone who have one. */
export const inspectDocument: InspectDocument = async ({ document: path, baseURL, operations }) => {
  const [{ readDocumentFile }, { baseUrl }, { writtenOperations }] = await Promise.all([
    import("./tools/openapi/document.ts"),
    import("./tools/openapi/base-url.ts"),
    import("./tools/openapi/operation.ts"),
  ]);
  try {
    const document = await readDocumentFile(path, new AbortController().signal);
    const known = new Set(writtenOperations(document.content, () => undefined).map(({ id }) => id));
    const unknown = [...(operations ?? []).entries()].filter(([, id]) => !known.has(id));
    return [
      // One that is configured has been checked where it stands.
      ...(baseURL === null ? problemsOf(["baseURL"], () => baseUrl(null, document)) : []),
      ...unknown.map(([index, id]) => ({
        path: ["operations", index],
        message: `${path} has no operation "${id}". ${offer([...known])}`,
      })),
    ];
  } catch (error) {
    return [{ path: ["document"], message: `${path}: ${reasonOf(error)}` }];
  }
};

function problemsOf(path: readonly string[], check: () => unknown) {
  try {
    check();
    return [];
  } catch (error) {
    return [{ path, message: reasonOf(error) }];
  }
}

/** Some of the ids, for whoever has mistyped one. */
function offer(known: readonly string[]): string {
  if (known.length === 0) return "It has none at all.";
  const shown = known.slice(0, 10).join(", ");
  return `It has ${known.length > 10 ? `${shown} and ${known.length - 10} more` : shown}.`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
