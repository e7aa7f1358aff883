import type { AppDefinition } from "../core/ports/driven/apps.ts";

/** Returns the utility model of a session: its selected model if the App offers that, otherwise the App's. */
export function utilityRigOf(
  { models, utilityModel }: Pick<AppDefinition, "models" | "utilityModel">,
  chosen: string | null,
): string {
  return chosen !== null && models.includes(chosen) ? chosen : utilityModel;
}
