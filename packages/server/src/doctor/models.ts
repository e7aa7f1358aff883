// Calls each model that an App uses with a tiny request.

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Config } from "../config/config.ts";
import type { FailureFacts, ModelCatalog } from "../core/ports/driven/model.ts";
import { broken, type Finding, ok, skipped } from "./finding.ts";

const ANSWER_MS = 30_000;
const DEMO = "demo/";
const REQUEST: LanguageModelV4CallOptions = {
  prompt: [{ role: "user", content: [{ type: "text", text: "Say OK." }] }],
  // The smallest maximum that every provider accepts.
  maxOutputTokens: 16,
};

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

export async function examineModels(config: Config, models: ModelCatalog): Promise<readonly Finding[]> {
  const apps = Object.values(config.apps);
  const rigs = [...new Set(apps.flatMap((app) => [...app.models, app.utilityModel]))];
  const unused = Object.keys(config.providers).filter(
    (name) => config.providers[name]?.kind !== "demo" && !rigs.some((rig) => rig.startsWith(`${name}/`)),
  );
  return [
    ...(await Promise.all(rigs.map((rig) => examineModel(rig, models)))),
    ...unused.map((name) => skipped("model", `${name} is not called: no App uses a model of it.`)),
  ];
}

async function examineModel(rig: string, models: ModelCatalog): Promise<Finding> {
  if (rig.startsWith(DEMO)) return skipped("model", `${rig} needs no provider.`);
  try {
    const model = await models.resolve(rig);
    const { stream } = await model.doStream({ ...REQUEST, abortSignal: AbortSignal.timeout(ANSWER_MS) });
    for await (const part of stream) if (part.type === "error") throw part.error;
    return ok("model", `${rig} answers.`);
  } catch (error) {
    const { code, message } = models.describeFailure(error);
    const facts = describeFacts(models.failureFacts(error));
    return broken("model", `${rig}: ${facts === "" ? message : `${facts}.`}`, MENDS[code] ?? MEND);
  }
}

function describeFacts({ address, status, errno, error, body }: FailureFacts): string {
  const reason = status === undefined ? (errno ?? error) : `status ${status}`;
  return [address, reason, body].filter((part) => part !== undefined).join(", ");
}
