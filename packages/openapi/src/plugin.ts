// The plugin for OpenAPI services (section `openapi` of an App). Imports the parser of documents on first use.

import { defineToolSource, isServerURL } from "@colloquy/engine/tool-source";
import manifest from "../package.json" with { type: "json" };
import { isAddress, OpenApiSection, openApiSettings } from "./settings.ts";

export const openapi = defineToolSource({
  name: "openapi",
  version: manifest.version,
  description: "HTTP services by name, whose operations become tools called `NAME_operation`.",
  settings: OpenApiSection,
  entries: true,
  placeholders: { headers: "secret" },
  // Documents may change while the settings stay the same.
  addresses: ({ baseURL, document }) =>
    [baseURL, document].flatMap((url) =>
      url !== undefined && URL.canParse(url) && /^https?:/.test(url) ? [{ url, isGuarded: true }] : [],
    ),
  async check(section, findings) {
    const { document, operations = [] } = section;
    for (const [index, operation] of operations.entries()) {
      if (operations.indexOf(operation) < index)
        findings.problem(["operations", index], `"${operation}" is in the list already.`);
    }
    if (isAddress(document)) {
      if (isServerURL(document)) return;
      const rule = "must be a path, or an http or https URL without user name and password.";
      return findings.problem(["document"], rule);
    }
    const settings = openApiSettings(section, findings.directory);
    findings.file(settings.document);
    const { inspectDocument } = await import("./inspection.ts");
    await inspectDocument(settings, findings);
  },
  async create(section, context) {
    const { OpenApiSource } = await import("./openapi-source.ts");
    return new OpenApiSource(openApiSettings(section, context.directory), context);
  },
});
