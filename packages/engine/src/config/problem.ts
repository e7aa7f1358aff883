// Configuration problems, formatted for people: all of them at once, each with its location.

export interface ConfigProblem {
  /** `environment`, or the name of the configuration file. */
  readonly source: string;
  /** A variable, a path such as `apps.default.models[1]`, or line and column; empty for the file as a whole. */
  readonly location: string;
  /** A sentence that says what to do. */
  readonly message: string;
}

/** Formats a path into the configuration: `apps.default.models[1]`, `providers["my.server"]`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else if (!/^[a-z_$][\w$-]*$/i.test(String(key))) text += `[${JSON.stringify(String(key))}]`;
    else text += text === "" ? String(key) : `.${String(key)}`;
  }
  return text;
}

/** Formats problems for a terminal: their number, then one line for each. */
export function formatProblems(
  problems: readonly ConfigProblem[],
  subject = "Colloquy cannot start: the configuration has",
): string {
  const count = problems.length === 1 ? "one problem" : `${problems.length} problems`;
  const lines = problems.map(({ source, location, message }) => {
    const where = [source === "environment" ? "" : source, location].filter((part) => part !== "").join(", ");
    return where === "" ? `  - ${message}` : `  - ${where}: ${message}`;
  });
  return [`${subject} ${count}.`, ...lines].join("\n");
}

/** Collects problems and warnings while the parts of a file are read. */
export class Findings {
  readonly problems: ConfigProblem[] = [];
  readonly warnings: string[] = [];
  /** Environment variables that the file refers to. */
  readonly variables = new Set<string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  problem(path: readonly PropertyKey[], message: string): void {
    this.problems.push({ source: this.#source, location: formatPath(path), message });
  }

  warn(path: readonly PropertyKey[], message: string): void {
    this.warnings.push(`${this.#source}, ${formatPath(path)}: ${message}`);
  }
}
