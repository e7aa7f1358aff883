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
 * Finds what is wrong with the rigs of an App's section, unchecked as it stands in the file at `path`: a provider that nobody knows or
 * that has no key, or a rig that is listed twice. Their shape is the schema's business.
 */
export function checkRigs(
  path: readonly string[],
  section: unknown,
  providers: ReadonlyMap<string, Provider>,
  findings: Findings,
): void {
  const { models = [], utilityModel } = Section.safeParse(section).data ?? {};
  const rigs = [
    ...models.map((rig, index) => ({ rig, place: ["models", index], again: models.indexOf(rig) < index })),
    { rig: utilityModel, place: ["utilityModel"], again: false },
  ];
  for (const { rig, place, again } of rigs) {
    if (typeof rig !== "string" || !rig.includes("/")) continue;
    const message = again ? `"${rig}" is in the list already.` : wrongProvider(rig, providers);
    if (message !== null) findings.problem([...path, ...place], message);
  }
}

function wrongProvider(rig: string, providers: ReadonlyMap<string, Provider>): string | null {
  const name = rig.slice(0, rig.indexOf("/"));
  const provider = providers.get(name);
  if (provider === undefined) {
    return `"${rig}" names the provider "${name}", which is not configured.${suggestion(name, [...providers.keys()])}`;
  }
  if (provider.config.kind === "demo" && rig !== `${name}/${DEMO_MODEL}`) {
    return `"${rig}" is no model: the only one of the demo is "${name}/${DEMO_MODEL}".`;
  }
  return provider.unusable === null ? null : `"${rig}" ${provider.unusable}`;
}

/** The rigs of an App that lists none: one of every known provider that can be used, the demo model last. */
export function defaultRigs(providers: ReadonlyMap<string, Provider>): readonly string[] {
  return KNOWN_PROVIDERS.filter(({ name }) => providers.get(name)?.unusable === null).map(
    ({ defaultRig }) => defaultRig,
  );
}
