// Renders matrix.md, to which docs/security.md links, and parses the routes that the matrix must cover.

export interface Row {
  readonly app: string;
  /** Method and path of the operation. */
  readonly name: string;
  readonly class: string;
  /** Status per caller, in their order. */
  readonly statuses: readonly number[];
}

const HEAD = `# What each caller gets

Written by the tests of this folder; [docs/security.md](../../../../docs/security.md#isolation) explains the classes.`;

/** Returns a Markdown page with one table per App, each with a heading. */
export function renderMatrix(
  rows: readonly Row[],
  callers: readonly string[],
  headings: Readonly<Record<string, string>>,
): string {
  const tables = Object.entries(headings).map(([app, heading]) => {
    const lines = renderTable(
      rows.filter((row) => row.app === app),
      callers,
    );
    return [heading, "", ...lines].join("\n");
  });
  return `${[HEAD, ...tables].join("\n\n")}\n`;
}

function renderTable(rows: readonly Row[], callers: readonly string[]): readonly string[] {
  const head = ["Operation", "Class", ...callers];
  const lines = rows.map((row) => [`\`${row.name}\``, row.class, ...row.statuses.map(String)]);
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

/** Returns the method and path of each route in the framework's printed tree. GET implies HEAD. */
export function routesIn(tree: string): string[] {
  const parents: string[] = [];
  return tree.split("\n").flatMap((line) => {
    const {
      indent = "",
      path,
      methods,
    } = /^(?<indent>[\s│]*)[├└]── (?<path>\S*)(?: \((?<methods>[A-Z, ]+)\))?/.exec(line)?.groups ?? {};
    if (path === undefined) return [];
    const depth = indent.length / 4;
    parents.length = depth;
    parents.push(path);
    const whole = `/${parents.join("")}`
      .replaceAll(/\/+/g, "/")
      .replaceAll(/:([a-z_]+)/g, "{$1}")
      .replace(/(?<=\w)\*$/, "/*");
    const names = methods?.split(", ").filter((method) => method !== "HEAD") ?? [];
    return names.map((method) => `${method} ${whole.length > 1 ? whole.replace(/\/$/, "") : whole}`);
  });
}
