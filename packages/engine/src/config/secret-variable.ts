// Secrets from the environment or from files. Unlike variables, files are not visible in /proc or to child processes.

import { readFileSync } from "node:fs";
import { describeFileError } from "../core/file-error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const ADVICE = "Name a file that the user of the service may read, or unset it.";

/** `text` is trimmed; it is empty if the variable is not set. */
export type VariableReading = { readonly text: string } | { readonly problem: string };

/** Returns the value of a variable or the content of the file that `<name>_FILE` names. Problems quote neither. */
export function readSecret(environment: Environment, name: string): VariableReading {
  const text = variableText(environment, name);
  const file = fileVariable(name);
  const path = variableText(environment, file);
  if (path === "") return { text };
  if (text !== "") return { problem: `is set, and so is ${file}. Unset one of them.` };
  try {
    const content = readFileSync(path, "utf8").trim();
    return content === ""
      ? { problem: `is empty in the file ${path}, which ${file} names.` }
      : { text: content };
  } catch (error) {
    return { problem: describeFileError(`is read from a file (${file}): ${path}`, error, ADVICE) };
  }
}

export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

export function variableText(environment: Environment, name: string): string {
  return (Object.hasOwn(environment, name) ? environment[name] : undefined)?.trim() ?? "";
}
