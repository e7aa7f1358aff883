// Validates traffic against the service's OpenAPI document: each response must match it in status, headers
// and fields, and each successful request must be allowed by it.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** A request with its response. Header names are in lower case. */
export interface Traffic {
  readonly method: string;
  /** Path and query of the request. */
  readonly target: string;
  readonly sent: Readonly<Record<string, unknown>>;
  readonly body: string | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Body of the response; `null` for a stream, whose events are validated one by one. */
  readonly text: string | null;
}

interface Operation {
  readonly method: string;
  readonly path: RegExp;
  readonly parameters: readonly Parameter[];
  readonly bodies: Readonly<Record<string, { readonly schema: object }>>;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Parameter {
  readonly in: "query" | "path" | "header";
  readonly name: string;
  readonly required?: boolean;
  readonly schema: { readonly type?: string };
}

interface Response {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
  };
}

interface DocumentedOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, Response>>;
}

/** Headers of HTTP itself, which API documents omit. */
const FRAMING = new Set([
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
]);
/** Pages, files and the document itself are not part of the document. */
const PAGES = /^\/(?:$|docs|reference|openapi\.json|assets\/|guide(?:$|\/)|console|favicon|admin(?:$|\/)|\?)/;
const PROBLEM = { $ref: "#/components/schemas/Problem" };

export class DocumentedApi {
  readonly #operations: readonly Operation[];
  readonly #headers: Document["components"]["headers"];
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, discriminator: false });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: unknown) {
    const { paths, components } = document as Document;
    addFormats.default(this.#ajv);
    this.#headers = components.headers;
    this.#ajv.addSchema({ $id: "document", components: { schemas: closed(components.schemas) } });
    this.#operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: new RegExp(`^${path.replaceAll(".", String.raw`\.`).replaceAll(/\{[^}]+\}/g, "([^/]+)")}$`),
        parameters: operation.parameters ?? [],
        bodies: operation.requestBody?.content ?? {},
        responses: operation.responses,
      })),
    );
  }

  /** Returns the deviations from the document; empty if there are none. */
  faults(traffic: Traffic): string[] {
    const [path = ""] = traffic.target.replace(/^https?:\/\/[^/]*/, "").split("?");
    // HEAD may be undocumented: its response is that of GET, or 405.
    if (traffic.method === "HEAD" && traffic.status === 405) return [];
    const method = traffic.method === "HEAD" ? "GET" : traffic.method;
    const operation = this.#operations.find((one) => one.method === method && one.path.test(path));
    if (operation === undefined) return this.#outside(traffic, path);
    const response = operation.responses[traffic.status];
    if (response === undefined) return [`the status ${traffic.status}`];
    const request = traffic.status < 400 ? this.#requestFaults(operation, traffic, path) : [];
    return [...request, ...this.#headerFaults(response, traffic), ...this.#bodyFaults(response, traffic)];
  }

  /** Like `faults`, for one event of a stream. */
  eventFaults(event: unknown): string[] {
    return this.#check({ $ref: "#/components/schemas/UpdateEvent" }, event, "event");
  }

  /** Undocumented paths must give 404. */
  #outside({ method, status, text }: Traffic, path: string): string[] {
    if (PAGES.test(path) || method === "OPTIONS") return [];
    if (![400, 403, 404, 405, 408, 417, 431].includes(status)) return [`${method} ${path}`];
    return text === null || text === "" ? [] : this.#check(PROBLEM, JSON.parse(text), "body");
  }

  #requestFaults(operation: Operation, { target, sent, body }: Traffic, path: string): string[] {
    const query = new URLSearchParams(target.split("?")[1] ?? "");
    const inPath = operation.path.exec(path)?.slice(1) ?? [];
    const read = {
      query: ({ name }: Parameter) => query.get(name),
      header: ({ name }: Parameter) => sent[name.toLowerCase()],
      path: () => inPath[0],
    };
    const faults = operation.parameters.flatMap((parameter) => {
      const { in: place, name, required = false, schema } = parameter;
      const value = read[place](parameter) ?? null;
      // An empty value counts as absent.
      if (value === null || value === "") return required ? [`no ${place} parameter ${name}`] : [];
      const isNumber = schema.type === "integer" || schema.type === "number";
      return this.#check(schema, isNumber ? Number(value) : value, `${place} parameter ${name}`);
    });
    const schema = operation.bodies["application/json"]?.schema;
    if (body === null || body.trim() === "" || schema === undefined) return faults;
    return [...faults, ...this.#check(schema, JSON.parse(body), "request body")];
  }

  #headerFaults({ headers = {} }: Response, { headers: answered }: Traffic): string[] {
    const documented = Object.entries(headers).map(([name, { $ref }]) => {
      const { required = false } = this.#headers[$ref.split("/").at(-1) ?? ""] ?? {};
      return { name: name.toLowerCase(), required };
    });
    const names = new Set(documented.map(({ name }) => name));
    return [
      ...Object.keys(answered)
        .filter((name) => !FRAMING.has(name) && !names.has(name))
        .map((name) => `the header ${name}`),
      ...documented
        .filter(({ name, required }) => required && answered[name] === undefined)
        .map(({ name }) => `an answer without the header ${name}`),
    ];
  }

  #bodyFaults({ content = {} }: Response, { method, headers, text }: Traffic): string[] {
    const sent = headers["content-type"];
    const type = typeof sent === "string" ? (sent.split(";")[0] ?? "") : "";
    const schema = content[type]?.schema;
    if (schema === undefined) return type === "" && (text ?? "") === "" ? [] : [`a body of the type ${type}`];
    if (text === null || method === "HEAD") return [];
    if (type === "text/event-stream")
      return [...text.matchAll(/^data: (.*)$/gm)].flatMap(([, data = ""]) =>
        // Ends streams of the AI SDK.
        data === "[DONE]" ? [] : this.#check(schema, JSON.parse(data), "event"),
      );
    return this.#check(schema, /[/+]json$/.test(type) ? JSON.parse(text) : text, "body");
  }

  #check(schema: object, value: unknown, place: string): string[] {
    const key = JSON.stringify(schema);
    let validate = this.#validators.get(key);
    if (validate === undefined) {
      validate = this.#ajv.compile(
        JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components')),
      );
      this.#validators.set(key, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${place}${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** Returns the schema without additional properties, which the document allows for later versions. */
function closed<Schema>(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    const isOpen =
      typeof value === "object" &&
      value !== null &&
      "type" in value &&
      value.type === "object" &&
      "properties" in value &&
      !("additionalProperties" in value);
    return isOpen ? { ...value, additionalProperties: false } : value;
  }) as Schema;
}
