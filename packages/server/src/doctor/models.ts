// Calls each configured model with minimal requests. For `openai-compatible` providers, detects fields of turn requests
// that the provider rejects, and the settings that omit them.

import type { JSONSchema7, LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ProviderConfig } from "@colloquy/engine/internal/config/engine-config";
import type { Config } from "../config/config.ts";
import type { FailureFacts, ModelCatalog } from "@colloquy/engine/internal/core/ports/driven/model";
import { broken, type Finding, ok, skipped, warning } from "@colloquy/engine/internal/core/finding";

const ANSWER_MS = 30_000;
const QUESTION: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text: "Say OK." }] }];
/** Smallest output limit that every provider accepts. */
const MAX_TOKENS = 16;

const MENDS: Readonly<Record<string, string>> = {
  model_auth:
    "Check the provider's API key (its variable, or the one in apiKeyEnv), and that the key belongs to this baseURL.",
  model_not_found:
    "Check the name of the model, and baseURL: it often ends in /v1, and never in /chat/completions.",
  model_unavailable: "Check baseURL, that the provider runs, and that this machine may connect to it.",
  model_timeout: "Check baseURL, and whether a firewall or proxy drops the connection.",
  model_rate_limited: "The key is accepted. Check the quota and the credit of the account, or wait.",
};
const MEND = "Compare baseURL and kind with the provider's documentation.";

/** Creates the models of a configuration. */
type CreateModels = (config: Config) => ModelCatalog;
type Settings = Partial<ProviderConfig>;

export async function examineModels(config: Config, create: CreateModels): Promise<readonly Finding[]> {
  const apps = Object.values(config.apps);
  const rigs = [...new Set(apps.flatMap((app) => [...app.models, app.utilityModel]))];
  const unused = Object.keys(config.providers).filter(
    (name) => config.providers[name]?.kind !== "demo" && !rigs.some((rig) => rig.startsWith(`${name}/`)),
  );
  return [
    ...(await Promise.all(rigs.map((rig) => examineModel(rig, config, create)))),
    ...unused.map((name) => skipped("model", `${name} is not called: no App uses a model of it.`)),
  ];
}

async function examineModel(rig: string, config: Config, create: CreateModels): Promise<Finding> {
  const name = rig.slice(0, rig.indexOf("/"));
  const provider = config.providers[name];
  if (provider?.kind === "demo") return skipped("model", `${rig} needs no provider.`);
  const calls = new Calls(rig, name, config, create);
  const probes = provider?.kind === "openai-compatible" ? COMPATIBLE_PROBES : COMPATIBLE_PROBES.slice(0, 1);
  const refused: Refused[] = [];
  for (const probe of probes) {
    const found = await probe(calls);
    if (found === null) continue;
    // Report only the failure if no setting helps.
    if (found.settings === null) return brokenModel(rig, found.answer, calls.models);
    calls.adopt(found.settings);
    refused.push(found);
  }
  if (refused.length === 0) return ok("model", `${rig} answers.`);
  const found = `${rig} answers, but ${refused.map(({ what }) => what).join("; ")}.`;
  const mend = mendOf(name, Object.assign({}, ...refused.map(({ settings }) => settings)) as Settings);
  return refused.some(({ isFatal }) => isFatal)
    ? broken("model", found, mend)
    : warning("model", found, mend);
}

function brokenModel(rig: string, answer: Answer, models: ModelCatalog): Finding {
  const { code, message } = models.describeFailure(answer.error);
  const facts = describeFacts(models.failureFacts(answer.error));
  return broken("model", `${rig}: ${facts === "" ? message : `${facts}.`}`, MENDS[code] ?? MEND);
}

function describeFacts({ address, status, errno, error, body }: FailureFacts): string {
  const reason = status === undefined ? (errno ?? error) : `status ${status}`;
  return [address, reason, body].filter((part) => part !== undefined).join(", ");
}

function mendOf(name: string, settings: Settings): string {
  const all = Object.entries(settings);
  const added = all.filter(([, value]) => value !== undefined);
  const removed = all.filter(([, value]) => value === undefined);
  return [
    ...(added.length === 0
      ? []
      : [
          `Add to providers.${name}: ${added.map(([key, value]) => `"${key}": ${JSON.stringify(value)}`).join(", ")}`,
        ]),
    ...(removed.length === 0
      ? []
      : [`Remove from providers.${name}: ${removed.map(([key]) => key).join(", ")}`]),
  ].join(". ");
}

interface Answer {
  readonly text: string;
  readonly error: unknown;
  /** `refused`: the provider rejects a field that a setting may omit. */
  readonly outcome: "answered" | "refused" | "failed";
}

interface Refused {
  readonly answer: Answer;
  /** Completes the sentence "RIG answers, but …". */
  readonly what: string;
  /** Settings that avoid the rejection; `null` if none do. */
  readonly settings: Settings | null;
  /** True if every turn fails without the settings. */
  readonly isFatal: boolean;
}

/** Probes one model, and applies each setting that avoids a rejection to later requests. */
class Calls {
  readonly rig: string;
  readonly #name: string;
  readonly #create: CreateModels;
  #config: Config;
  #models: ModelCatalog;
  /** False if the provider rejects an output limit, which turns do not send. */
  limited = true;

  constructor(rig: string, name: string, config: Config, create: CreateModels) {
    this.rig = rig;
    this.#name = name;
    this.#config = config;
    this.#create = create;
    this.#models = create(config);
  }

  get models(): ModelCatalog {
    return this.#models;
  }

  get settings(): Settings {
    return this.#config.providers[this.#name] ?? {};
  }

  adopt(settings: Settings): void {
    this.#config = this.#with(settings);
    this.#models = this.#create(this.#config);
  }

  #with(settings: Settings): Config {
    const { providers } = this.#config;
    const provider = providers[this.#name];
    if (provider === undefined) return this.#config;
    return { ...this.#config, providers: { ...providers, [this.#name]: { ...provider, ...settings } } };
  }

  async ask(options: Partial<LanguageModelV4CallOptions>, settings: Settings = {}): Promise<Answer> {
    const models = Object.keys(settings).length === 0 ? this.#models : this.#create(this.#with(settings));
    try {
      const model = await models.resolve(this.rig);
      const { stream } = await model.doStream({
        prompt: QUESTION,
        ...(this.limited && { maxOutputTokens: MAX_TOKENS }),
        ...options,
        abortSignal: AbortSignal.timeout(ANSWER_MS),
      });
      let text = "";
      for await (const part of stream) {
        if (part.type === "error") throw part.error;
        if (part.type === "text-delta") text += part.delta;
      }
      return { text, error: null, outcome: "answered" };
    } catch (error) {
      const { code, retryable } = models.describeFailure(error);
      return { text: "", error, outcome: code === "model_error" && !retryable ? "refused" : "failed" };
    }
  }

  /** Returns the first settings with which a request succeeds; `null` if none do. */
  async firstAnswered(
    options: Partial<LanguageModelV4CallOptions>,
    all: readonly Settings[],
  ): Promise<Settings | null> {
    for (const settings of all)
      if ((await this.ask(options, settings)).outcome === "answered") return settings;
    return null;
  }
}

type Probe = (calls: Calls) => Promise<Refused | null>;

const TOOL: Partial<LanguageModelV4CallOptions> = {
  tools: [
    {
      type: "function",
      name: "current_time",
      description: "Returns the current time",
      inputSchema: { type: "object", properties: {} },
    },
  ],
  toolChoice: { type: "auto" },
};

const COMPATIBLE_PROBES: readonly Probe[] = [probePlain, probeTools, probeReasoning, probeJson];

async function probePlain(calls: Calls): Promise<Refused | null> {
  let answer = await calls.ask({});
  if (answer.outcome === "refused") {
    calls.limited = false;
    const unlimited = await calls.ask({});
    calls.limited = unlimited.outcome !== "answered";
    if (!calls.limited) answer = unlimited;
  }
  if (answer.outcome === "answered") {
    if (!/<\s*\/\s*think/i.test(answer.text)) return null;
    const what = "its answer begins with reasoning, whose tag the chat template opens";
    return { answer, what, settings: { thinkingTags: "opened" }, isFatal: false };
  }
  const isCompatible = calls.settings.kind === "openai-compatible";
  const tried: readonly Settings[] = [
    { streamUsage: false },
    ...(calls.settings.body === undefined
      ? []
      : [{ body: undefined }, { streamUsage: false, body: undefined }]),
  ];
  const settings = answer.outcome === "refused" && isCompatible ? await calls.firstAnswered({}, tried) : null;
  const names = [
    ...(settings?.streamUsage === false ? ["stream_options"] : []),
    ...(settings !== null && "body" in settings ? ["the fields of body"] : []),
  ];
  return { answer, what: `it refuses ${names.join(" and ")}`, settings, isFatal: true };
}

async function probeTools(calls: Calls): Promise<Refused | null> {
  if (calls.settings.tools === false) return null;
  const answer = await calls.ask(TOOL);
  if (answer.outcome !== "refused") return null;
  const { parallelToolCalls } = calls.settings;
  const settings = (await calls.firstAnswered(TOOL, [
    { toolChoice: false },
    ...(parallelToolCalls === undefined ? [] : [{ parallelToolCalls: undefined }]),
  ])) ?? { tools: false };
  const what =
    "toolChoice" in settings ? "tool_choice" : "tools" in settings ? "tools" : "parallel_tool_calls";
  return { answer, what: `it refuses ${what}`, settings, isFatal: true };
}

/** A request after a tool call, which sends reasoning back to the model. */
function resumed(hasReasoning: boolean): Partial<LanguageModelV4CallOptions> {
  const call = { toolCallId: "colloquy1", toolName: "current_time" };
  return {
    ...TOOL,
    prompt: [
      ...QUESTION,
      {
        role: "assistant",
        content: [
          ...(hasReasoning ? [{ type: "reasoning" as const, text: "I look at the clock." }] : []),
          { type: "tool-call", ...call, input: {} },
        ],
      },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "noon" } }] },
    ],
  };
}

async function probeReasoning(calls: Calls): Promise<Refused | null> {
  const { tools, replayReasoning } = calls.settings;
  if (tools === false || replayReasoning === false) return null;
  const answer = await calls.ask(resumed(true));
  if (answer.outcome !== "refused" || (await calls.ask(resumed(false))).outcome !== "answered") return null;
  return {
    answer,
    what: "it refuses reasoning_content",
    settings: { replayReasoning: false },
    isFatal: false,
  };
}

const SCHEMA: JSONSchema7 = {
  type: "object",
  properties: { ok: { type: "boolean" } },
  required: ["ok"],
  additionalProperties: false,
};

async function probeJson(calls: Calls): Promise<Refused | null> {
  const { tools, jsonAnswers = "json_object" } = calls.settings;
  const options: Partial<LanguageModelV4CallOptions> = {
    ...(tools !== false && TOOL),
    prompt: [{ role: "user", content: [{ type: "text", text: 'Answer with the JSON {"ok": true}.' }] }],
    responseFormat: { type: "json", schema: SCHEMA },
  };
  const answer = await calls.ask(options);
  if (answer.outcome !== "refused") return null;
  const others = (["json_schema", "json_object", "off"] as const).filter((format) => format !== jsonAnswers);
  const settings = await calls.firstAnswered(
    options,
    others.map((format) => ({ jsonAnswers: format })),
  );
  if (settings === null) return null;
  return { answer, what: `it refuses ${jsonAnswers} for JSON answers`, settings, isFatal: false };
}
