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
// assistant-ui scrolls and measures; jsdom has no layout.
window.Element.prototype.scrollTo = () => undefined;
for (const name of ["ResizeObserver", "IntersectionObserver"]) {
  Object.defineProperty(globalThis, name, {
    value: class {
      observe(): void {}
      unobserve(): void {}
      disconnect(): void {}
    },
    configurable: true,
    writable: true,
  });
}
