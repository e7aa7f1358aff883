// Reads the declarations of a built package: its exported names and the types that they mention, as text.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Declaration {
  readonly name: string;
  /** Text of the doc comment; empty if there is none. */
  readonly about: string;
  /** TypeScript, without `export`, `declare` and private members. */
  readonly text: string;
}

interface Module {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Files of imported and re-exported names. */
  readonly sources: ReadonlyMap<string, string>;
  /** Exported names, in order. */
  readonly exported: readonly string[];
}

const LIST = /^(?:import|export) (?:type )?\{([^}]*)\} from "(\.[^"]+)";/;
const ALL = /^export (?:type )?\* from "(\.[^"]+)";/;
const START = /^(export )?(?:declare )?(?:interface|type|class|function|const) (\w+)/;
const COMMENT = /^\s*(?:\/\*\*|\*|\/\/)/;

/**
 * Returns the declarations of an entry's exported names, then those of other types of the package that they
 * mention. `internal` names are left out.
 */
export function declarationsOf(
  entry: string,
  internal: ReadonlySet<string>,
): { readonly exported: readonly Declaration[]; readonly mentioned: readonly Declaration[] } {
  const modules = new Map<string, Module>();
  const open = (file: string): Module => {
    const module = modules.get(file) ?? readModule(file);
    modules.set(file, module);
    return module;
  };
  const find = (name: string, file: string): { declaration: Declaration; file: string } | null => {
    const { declarations, sources } = open(file);
    const declaration = declarations.get(name);
    if (declaration !== undefined) return { declaration, file };
    const source = sources.get(name);
    return source === undefined ? null : find(name, source);
  };
  const queue = open(entry).exported.flatMap((name) => find(name, entry) ?? []);
  const exported = queue.map(({ declaration }) => declaration);
  const names = new Set([...internal, ...exported.map(({ name }) => name)]);
  // The queue grows while it is iterated.
  for (const { declaration, file } of queue) {
    for (const [name] of declaration.text.matchAll(/\b[A-Za-z]\w*\b/g)) {
      if (names.has(name)) continue;
      const found = find(name, file);
      if (found === null || found.declaration.name !== name) continue;
      names.add(name);
      queue.push(found);
    }
  }
  return { exported, mentioned: queue.slice(exported.length).map(({ declaration }) => declaration) };
}

function readModule(file: string): Module {
  const declarations = new Map<string, Declaration>();
  const sources = new Map<string, string>();
  const exported: string[] = [];
  const path = (specifier: string): string => join(dirname(file), specifier.replace(/\.js$/, ".d.ts"));
  for (const { comment, lines } of statementsOf(readFileSync(file, "utf8"))) {
    const [first = ""] = lines;
    const [, list, from = ""] = LIST.exec(lines.join(" ")) ?? [];
    const [, everything] = ALL.exec(first) ?? [];
    const [, isExported, name] = START.exec(first) ?? [];
    for (const item of list?.match(/\w+(?=\s*(?:,|$))/g) ?? []) {
      sources.set(item, path(from));
      if (first.startsWith("export")) exported.push(item);
    }
    if (everything !== undefined) {
      for (const item of readModule(path(everything)).exported) {
        sources.set(item, path(everything));
        exported.push(item);
      }
    }
    if (name === undefined) continue;
    if (isExported !== undefined) exported.push(name);
    const before = declarations.get(name);
    const text = [...(before === undefined ? [] : [before.text]), indented(lines)].join("\n");
    declarations.set(name, { name, about: before?.about ?? aboutOf(comment), text });
  }
  return { declarations, sources, exported };
}

/** Splits a file at the statements of its top level. */
function statementsOf(text: string): readonly { comment: readonly string[]; lines: readonly string[] }[] {
  const statements: { comment: string[]; lines: string[] }[] = [];
  let comment: string[] = [];
  let lines: string[] = [];
  let depth = 0;
  for (const line of text.split("\n")) {
    if (lines.length === 0 && COMMENT.test(line)) {
      comment.push(line);
      continue;
    }
    if (lines.length === 0 && line.trim() === "") continue;
    lines.push(line);
    depth += depthOf(line);
    if (depth > 0 || !/[;}]$/.test(line)) continue;
    statements.push({ comment, lines });
    [comment, lines] = [[], []];
  }
  return statements;
}

/** Returns the brackets that a line opens minus those it closes. */
function depthOf(line: string): number {
  if (COMMENT.test(line)) return 0;
  const code = line.replaceAll(/"[^"]*"/g, "");
  return (code.match(/[{([]/g)?.length ?? 0) - (code.match(/[})\]]/g)?.length ?? 0);
}

/** Returns the lines indented by their brackets, because some files are not. */
function indented(lines: readonly string[]): string {
  let depth = 0;
  const result = lines.flatMap((line) => {
    const text = line.trim().replace(/^export (?=declare|interface|type)|^export /, "");
    const shown = text.replace(/^declare /, "");
    const own = /^[})\]]/.test(shown) ? depth - 1 : depth;
    depth += Math.sign(depthOf(line));
    const star = shown.startsWith("*") ? " " : "";
    return /^(?:#private|private )/.test(shown) ? [] : [`${"  ".repeat(Math.max(own, 0))}${star}${shown}`];
  });
  return result.join("\n");
}

function aboutOf(comment: readonly string[]): string {
  const doc =
    comment
      .join("\n")
      .match(/\/\*\*[^]*?\*\//g)
      ?.at(-1) ?? "";
  return doc.replaceAll(/^\s*\/\*\*\s?|\s*\*\/$|^\s*\* ?/gm, "").trim();
}
