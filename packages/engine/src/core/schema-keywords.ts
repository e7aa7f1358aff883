// Keywords of JSON Schema (drafts 7 to 2020-12, and OpenAPI's `example`) whose values are no schemas themselves.

/** Keywords whose values map names to schemas. */
export const SCHEMAS_BY_NAME: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/** Keywords whose values are data, not schemas. */
export const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "example"]);
