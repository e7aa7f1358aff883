// Writes the wire types as plain TypeScript, generated from the server's validation schemas, so that the
// published package needs neither these schemas nor zod.

import * as protocol from "@colloquy/protocol";
import { z } from "zod";

const JSON_TYPE = `/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
`;

/** Returns declarations of the protocol's types with these names and of the types they refer to. */
export function wireDeclarations(names: readonly string[]): string {
  const schemas = new Map<string, z.ZodType>();
  for (const [name, value] of Object.entries(protocol)) {
    if (value instanceof z.ZodType && !(value instanceof z.ZodUnknown)) schemas.set(name, value);
  }
  const nameOf = new Map([...schemas].map(([name, schema]) => [schema, name]));
  const wanted = new Set(names);
  const type = (schema: z.ZodType): string => {
    const name = nameOf.get(schema);
    if (name === undefined) return typeText(schema, type);
    wanted.add(name);
    return name;
  };
  const declarations: string[] = [];
  // The set grows while it is iterated: `typeText` adds the names that a declaration mentions.
  for (const name of wanted) {
    const schema = schemas.get(name);
    if (schema === undefined) throw new Error(`The protocol has no schema with the name ${name}`);
    declarations.push(`${comment(schema)}export type ${name} = ${typeText(schema, type)};\n`);
  }
  return [JSON_TYPE, ...declarations].join("\n");
}

type TypeOf = (schema: z.ZodType) => string;

function typeText(schema: z.ZodType, type: TypeOf): string {
  if (schema instanceof z.ZodObject) return objectText(schema, type);
  if (schema instanceof z.ZodUnion) return (schema.options as z.ZodType[]).map(type).join(" | ");
  if (schema instanceof z.ZodArray) return `Array<${type(schema.element as z.ZodType)}>`;
  if (schema instanceof z.ZodRecord) return `{ [key: string]: ${type(schema.valueType as z.ZodType)} }`;
  if (schema instanceof z.ZodNullable) return `${type(schema.unwrap() as z.ZodType)} | null`;
  if (schema instanceof z.ZodOptional) return `${type(schema.unwrap() as z.ZodType)} | undefined`;
  if (schema instanceof z.ZodExactOptional) return type(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodEnum) return schema.options.map((value) => JSON.stringify(value)).join(" | ");
  if (schema instanceof z.ZodLiteral)
    return [...schema.values].map((value) => JSON.stringify(value)).join(" | ");
  // `Json` accepts parsed JSON without a cast.
  if (schema instanceof z.ZodUnknown) return "Json";
  const { type: kind } = schema.def;
  if (kind === "string" || kind === "number" || kind === "boolean" || kind === "null") return kind;
  throw new Error(`Schemas of the kind ${kind} are not supported`);
}

function objectText(schema: z.ZodObject, type: TypeOf): string {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(
    ([name, field]) => `${comment(field)}${name}${field.def.type === "optional" ? "?" : ""}: ${type(field)};`,
  );
  const named = `{\n${fields.join("\n")}\n}`;
  const rest = schema.def.catchall as z.ZodType | undefined;
  if (rest === undefined || rest instanceof z.ZodNever) return named;
  // An intersection, because an index signature in the same type would not allow optional fields, which may
  // be undefined.
  return `(${named} & { [key: string]: ${type(rest)} })`;
}

function comment(schema: z.ZodType): string {
  const description = schema.description;
  return description === undefined ? "" : `/** ${description}. */\n`;
}
