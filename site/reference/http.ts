// The reference of the HTTP interface, from the OpenAPI document of a service that runs for a moment.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { schemaText, type Schema } from "./schema-text.ts";

const SERVER = join(import.meta.dirname, "../../packages/server/src/main.ts");

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;
interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}
export interface OpenApi {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Returns the document of a service with an administration. */
export async function readOpenApi(): Promise<OpenApi> {
  const directory = mkdtempSync(join(tmpdir(), "colloquy-openapi-"));
  const environment = {
    PATH: process.env["PATH"],
    PORT: "0",
    COLLOQUY_DATA_DIR: join(directory, "data"),
    COLLOQUY_ADMIN_KEY: randomBytes(24).toString("base64url"),
  };
  const service = spawn(process.execPath, [SERVER], {
    cwd: directory,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    for await (const line of createInterface({ input: service.stdout })) {
      const { address } = JSON.parse(line) as { readonly address?: string };
      if (address !== undefined) return (await (await fetch(`${address}/openapi.json`)).json()) as OpenApi;
    }
    throw new Error("The service ended before it listened.");
  } finally {
    service.kill();
    if (service.exitCode === null) await once(service, "exit");
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the page: the operations by tag, then the schemas. */
export function httpPage({ tags, paths, components }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  const sections = tags.map(({ name, description }) => [
    `## ${name}`,
    `${description}.`,
    ...operations.filter(({ operation }) => operation.tags.includes(name)).map(operationText),
  ]);
  const schemas = Object.entries(components.schemas).map(schemaSection);
  const head = [
    "# HTTP operations",
    "Generated from the OpenAPI document that a server has at `/openapi.json`; `/docs` sends requests. The [HTTP interface](../api.md) explains sessions, events and errors.",
  ];
  return [...head, ...sections.flat(), "## Schemas", ...schemas].join("\n\n");
}

function operationText({
  name,
  operation,
}: {
  readonly name: string;
  readonly operation: Operation;
}): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content["application/json"];
  return [
    `### ${summary}`,
    `\`\`\`http\n${name}\n\`\`\``,
    ...(description === undefined ? [] : [description]),
    ...(parameters.length === 0 ? [] : [parameterTable(parameters)]),
    ...(body?.schema === undefined ? [] : ["Body:", typeBlock(body.schema)]),
    answerTable(responses),
  ].join("\n\n");
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    ({ name, in: place, required, description = "", schema }) =>
      `| \`${name}\` | ${place}${required === true ? ", required" : ""} | ${cell(description || (schema.description ?? ""))} |`,
  );
  return ["| Parameter | In | Meaning |", "|---|---|---|", ...rows].join("\n");
}

function answerTable(responses: Operation["responses"]): string {
  const statuses = Object.keys(responses);
  const rows = statuses.filter(isSuccess).map((status) => {
    const { description, content = {} } = responses[status] ?? { description: "" };
    const schema = Object.values(content)[0]?.schema;
    return `| ${status} | ${cell(description)} | ${schema === undefined ? "" : shortType(schema)} |`;
  });
  const errors = statuses.filter((status) => !isSuccess(status)).join(", ");
  const table = ["| Status | When | Body |", "|---|---|---|", ...rows].join("\n");
  return `${table}\n\n[Errors](../api.md#errors): ${errors}.`;
}

function isSuccess(status: string): boolean {
  return Number(status) < 400;
}

function shortType(schema: Schema): string {
  const name = schema.$ref?.split("/").at(-1) ?? schema.items?.$ref?.split("/").at(-1);
  if (name !== undefined) return `[${name}](#${name.toLowerCase()})${schema.items === undefined ? "" : "[]"}`;
  return `\`${cell(schemaText({ ...schema, description: "" }).replaceAll(/\s+/g, " "))}\``;
}

function schemaSection([name, schema]: readonly [string, Schema]): string {
  const example = schema.examples?.[0];
  return [
    `### ${name}`,
    ...(schema.description === undefined
      ? []
      : [schema.description.startsWith("- ") ? schema.description : `${schema.description}.`]),
    typeBlock(schema),
    ...(example === undefined ? [] : ["Example:", `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``]),
  ].join("\n\n");
}

function typeBlock(schema: Schema): string {
  return `\`\`\`ts\n${schemaText(schema)}\n\`\`\``;
}

/** Returns text for a cell of a table. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
