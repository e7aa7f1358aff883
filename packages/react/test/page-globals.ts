// Makes this process a page, with the DOM of jsdom. What Node has itself stays: the service runs in the same process, and its URLs, streams
// and signals must be Node's. Import it before anything that looks for a document.

import { JSDOM } from "jsdom";

export const { window } = new JSDOM("<!doctype html><html lang='en'><body></body></html>", {
  url: "http://localhost:5173/",
  pretendToBeVisual: true,
});

// What Node has only half of without a file to keep it in.
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
// assistant-ui scrolls and measures; jsdom lays nothing out.
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
