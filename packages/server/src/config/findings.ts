import { formatPath, type ConfigProblem } from "./problem.ts";

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
    this.problems.push({ source: this.#source, place: formatPath(path), message });
  }

  warn(path: readonly PropertyKey[], message: string): void {
    this.warnings.push(`${this.#source}, ${formatPath(path)}: ${message}`);
  }
}
