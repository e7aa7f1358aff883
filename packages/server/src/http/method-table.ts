/** Which methods the routes at a path know, for `405` and `Allow` (RFC 9110 section 15.5.6). */
export class MethodTable {
  readonly #routes: { readonly pattern: RegExp; readonly methods: Set<string> }[] = [];
  readonly #byUrl = new Map<string, Set<string>>();

  /** Adds a route; `url` is a pattern such as `/api/sessions/:id`. */
  add(url: string, methods: string | readonly string[]): void {
    let known = this.#byUrl.get(url);
    if (known === undefined) {
      known = new Set();
      this.#byUrl.set(url, known);
      const source = url.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(/:[^/]+/g, "[^/]+");
      this.#routes.push({ pattern: new RegExp(`^${source.replaceAll("*", ".*")}$`), methods: known });
    }
    for (const method of [methods].flat()) known.add(method);
  }

  /** The methods at the path of a request target, sorted; none when no route is there. */
  at(target: string): readonly string[] {
    const path = /^[^?#]*/.exec(target)?.[0] ?? "";
    const methods = this.#routes
      .filter(({ pattern }) => pattern.test(path))
      .flatMap((route) => [...route.methods]);
    return [...new Set(methods)].toSorted();
  }
}
