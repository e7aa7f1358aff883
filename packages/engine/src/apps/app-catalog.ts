import type { AppSettings } from "../core/app-settings.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import { DEFAULT_APP } from "../core/session.ts";

const DEMO = "demo/assistant";
/** Default suggestions, by the tool that they need. */
const BY_TOOL: readonly (readonly [tool: string, text: string])[] = [
  ["calculator", "What is 12 * 7?"],
  ["current_time", "What time is it in Tokyo?"],
];

type AppsByName = Readonly<Record<string, AppSettings>>;

/**
 * Creates the catalog. Throws if `default` is missing or an App has no model, which its callers must rule
 * out.
 */
export function createApps(settings: AppsByName): AppCatalog {
  const apps = defineApps(settings);
  const names = Object.freeze([...apps.keys()]);
  return Object.freeze({ names: () => names, get: (name: string) => apps.get(name) ?? null });
}

function defineApps(settings: AppsByName): ReadonlyMap<string, AppDefinition> {
  const others = Object.keys(settings).filter((name) => name !== DEFAULT_APP);
  return new Map([DEFAULT_APP, ...others].map((name) => [name, defineApp(name, settings)]));
}

function defineApp(name: string, all: Readonly<Record<string, AppSettings>>): AppDefinition {
  const settings = all[name];
  const [first, ...rest] = settings?.models ?? [];
  if (settings === undefined || first === undefined) {
    throw new Error(`The App "${name}" must be configured with at least one model`);
  }
  const { secrets } = settings;
  const suggestions = suggestionsOf(settings);
  const descriptor = {
    name,
    ...(secrets.length > 0 && { secrets: [...secrets] }),
    ...(suggestions.length > 0 && { suggestions: [...suggestions] }),
    ...(settings.onBusy !== "enqueue" && { on_busy: settings.onBusy }),
  };
  const models = Object.freeze([first, ...rest] as const);
  return Object.freeze({ ...settings, name, models, descriptor: Object.freeze(descriptor) });
}

/** Returns the configured suggestions, or defaults that fit the App's tools and its first model. */
function suggestionsOf({ suggestions, tools, models }: AppSettings): readonly string[] {
  if (suggestions !== undefined) return suggestions;
  const isDemo = models[0] === DEMO;
  const { own, sources, wallet, client } = tools;
  const others = [own, sources, wallet ?? {}, client ?? {}];
  return [
    ...BY_TOOL.flatMap(([tool, text]) => (tools.builtIn.includes(tool) ? [text] : [])),
    ...(others.some((some) => Object.keys(some).length > 0) ? ["What tools do you have?"] : []),
    ...(isDemo ? ["Count to 50"] : []),
    ...(isDemo && tools.isUnconfigured === true ? ["Order 2 cups of tea"] : []),
  ];
}
