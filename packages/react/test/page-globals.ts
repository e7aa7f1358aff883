// Turns this process into a page with jsdom's DOM. Node's own globals stay: the service runs in the same
// process and needs Node's URLs, streams and signals. Import it before anything that looks for a document.

import { JSDOM } from "jsdom";

export const { window } = new JSDOM("<!doctype html><html lang='en'><body></body></html>", {
  url: "http://localhost:5173/",
  pretendToBeVisual: true,
});

// Node has these only partially without a file to store them in.
const ALWAYS = ["localStorage", "sessionStorage", "addEventListener", "removeEventListener", "dispatchEvent"];

for (const name of [...Object.getOwnPropertyNames(window), ...ALWAYS]) {
  if (name in globalThis && !ALWAYS.includes(name) && name !== "navigator") continue;
  const value: unknown = Reflect.get(window, name);
  const isMethod = typeof value === "function" && ALWAYS.includes(name);
  Object.defineProperty(globalThis, name, {
    value: isMethod ? (value as (...given: unknown[]) => unknown).bind(window) : value,
    configurable: true,
    writable: true,
  });
}
// Layout APIs that assistant-ui uses and jsdom lacks. Simulates a wide page.
window.Element.prototype.scrollTo = () => undefined;
Object.defineProperty(window, "matchMedia", {
  value: (query: string) => ({
    matches: query.startsWith("(min-width"),
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }),
});
class NoObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

let endsInSight = true;
const looks = new Set<() => void>();

/** Says whether the ends of texts that a person must read are in sight. */
export function setEndsInSight(inSight: boolean): void {
  endsInSight = inSight;
  for (const look of looks) look();
}

/** Reports for the ends of texts alone. */
class EndObserver extends NoObserver {
  readonly #report: (entries: readonly { readonly isIntersecting: boolean }[]) => void;
  readonly #look = (): void => this.#report([{ isIntersecting: endsInSight }]);

  constructor(report: (entries: readonly { readonly isIntersecting: boolean }[]) => void) {
    super();
    this.#report = report;
  }

  override observe(target?: Element): void {
    if (target?.matches("pre > span:empty") !== true) return;
    looks.add(this.#look);
    queueMicrotask(() => looks.has(this.#look) && this.#look());
  }

  override disconnect(): void {
    looks.delete(this.#look);
  }
}

for (const [name, value] of Object.entries({
  ResizeObserver: NoObserver,
  IntersectionObserver: EndObserver,
})) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
