// JSON Schema as TypeScript, for readers.

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly additionalProperties?: Schema | boolean;
}

/** Returns the schema as a type; descriptions of fields become comments. */
export function schemaText(schema: Schema, indent = ""): string {
  const { $ref, anyOf, oneOf, enum: values, items, properties } = schema;
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "unknown";
  const union = oneOf ?? anyOf;
  if (union !== undefined) return union.map((one) => schemaText(one, indent)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (items !== undefined) return arrayOf(schemaText(items, indent));
  if (properties !== undefined) return objectText(schema, indent);
  if (typeof schema.additionalProperties === "object")
    return `{ [name: string]: ${schemaText(schema.additionalProperties, indent)} }`;
  return [schema.type ?? "unknown"].flat().join(" | ").replaceAll("integer", "number");
}

function arrayOf(type: string): string {
  return /^\w+$/.test(type) ? `${type}[]` : `Array<${type}>`;
}

function objectText({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, field]) => {
    const about =
      field.description ?? field.anyOf?.find(({ description }) => description !== undefined)?.description;
    const comment = about === undefined ? "" : `${inner}/** ${about.replaceAll(/\s*\n\s*/g, " ")} */\n`;
    return `${comment}${inner}${name}${required.includes(name) ? "" : "?"}: ${schemaText(field, inner)};`;
  });
  return fields.length === 0 ? "object" : `{\n${fields.join("\n")}\n${indent}}`;
}
