import { z } from "zod";
import { DEMO_MODEL, KNOWN_PROVIDERS } from "./known-providers.ts";
import type { Findings } from "./findings.ts";
import { suggestion } from "./nearest-name.ts";
import type { Provider } from "./providers.ts";

const Section = z.object({
  models: z.array(z.unknown()).optional().catch([]),
  utilityModel: z.unknown().optional(),
});

/**
 * Finds problems with the rigs of an App's unvalidated section at `path`: an unknown provider, one without a key, or a
 * duplicate rig. The schema validates their shape separately.
 */
export function checkRigs(
  path: readonly string[],
  section: unknown,
  providers: ReadonlyMap<string, Provider>,
  findings: Findings,
): void {
  const { models = [], utilityModel } = Section.safeParse(section).data ?? {};
  const rigs = [
    ...models.map((rig, index) => ({
      rig,
      place: ["models", index],
      isDuplicate: models.indexOf(rig) < index,
    })),
    { rig: utilityModel, place: ["utilityModel"], isDuplicate: false },
  ];
  for (const { rig, place, isDuplicate } of rigs) {
    if (typeof rig !== "string" || !rig.includes("/")) continue;
    const message = isDuplicate ? `"${rig}" is in the list already.` : providerProblem(rig, providers);
    if (message !== null) findings.problem([...path, ...place], message);
  }
}

function providerProblem(rig: string, providers: ReadonlyMap<string, Provider>): string | null {
  const name = rig.slice(0, rig.indexOf("/"));
  const provider = providers.get(name);
  if (provider === undefined) {
    return `"${rig}" names the provider "${name}", which is not configured.${suggestion(name, [...providers.keys()])}`;
  }
  if (provider.config.kind === "demo" && rig !== `${name}/${DEMO_MODEL}`) {
    return `"${rig}" is not a model: the only demo model is "${name}/${DEMO_MODEL}".`;
  }
  return provider.unusable === null ? null : `"${rig}" ${provider.unusable}`;
}

/** Returns the rigs of an App that lists none: one per usable known provider, the demo model last. */
export function defaultRigs(providers: ReadonlyMap<string, Provider>): readonly string[] {
  return KNOWN_PROVIDERS.filter(({ name }) => providers.get(name)?.unusable === null).map(
    ({ defaultRig }) => defaultRig,
  );
}
