import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** A file of the console that is fetched when it is needed was not there, or not to be reached. */
export class PartNotLoaded extends Error {
  override readonly name = "PartNotLoaded";
}

/** A component whose file is loaded when it is shown. An `ErrorBoundary` above it tells that it could not be. */
export function latePart<Props>(
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
