import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** Thrown if a lazily loaded module is missing or unreachable. */
export class PartNotLoaded extends Error {
  override readonly name = "PartNotLoaded";
}

/** Returns a component that is loaded when first shown. An `ErrorBoundary` above it reports load failures. */
export function lazyPart<Props>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => {
    try {
      return { default: await load() };
    } catch (cause) {
      throw new PartNotLoaded("A file of the console could not be loaded.", { cause });
    }
  });
}
