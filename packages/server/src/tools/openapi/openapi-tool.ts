// Creates a tool from an operation.

import type { JSONSchema7 } from "@ai-sdk/provider";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ToolContext, ToolEffect } from "../../core/ports/driven/tool.ts";
import { createInputCheck } from "../input-check.ts";
import { checkableSchema } from "../mcp/checkable-schema.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { fillSecrets } from "../secret-headers.ts";
import type { SourceTool } from "../tool-source.ts";
import { readAnswer } from "./answer.ts";
import type { OperationPlan } from "./operation.ts";
import { buildRequest } from "./request.ts";

export interface OpenApiToolParts {
  readonly name: string;
  readonly base: URL;
  /** The configured headers, with secrets not yet filled in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly outbound: Pick<Outbound, "guardedFetch">;
  readonly scrub: (value: JsonValue) => JsonValue;
}

/** Maximum size of a response. */
const maximumAnswerBytes = 1_024 * 1_024;
/** Longer than the time limit of any tool, which ends a call first. */
const timeoutMs = 600_000;

/** @throws TypeError if the operation's input cannot be checked. */
export function createOpenApiTool(plan: OperationPlan, parts: OpenApiToolParts): SourceTool {
  const { name, base, headers, outbound, scrub } = parts;
  const checkable = checkableSchema(plan.inputSchema) as JSONSchema7;
  return {
    name,
    description: plan.description,
    inputSchema: plan.inputSchema,
    effect: plan.effect,
    checkInput: createInputCheck({ name, inputSchema: checkable }, "draft-2020-12"),
    scrub,
    async execute(input, context: ToolContext) {
      const { url, init } = buildRequest(plan, isJsonObject(input) ? input : {}, {
        base,
        headers: fillSecrets(headers, context),
        callId: context.callId,
      });
      const limits = {
        allowPrivate: base.origin,
        maxBytes: maximumAnswerBytes,
        timeoutMs,
        signal: context.signal,
      };
      try {
        return await readAnswer(await outbound.guardedFetch(url, init, limits), url.host);
      } catch (error) {
        throw withOutcome(error, plan.effect);
      }
    },
  };
}

/** Tells the model that a failed call with an unsafe effect may have had it. */
function withOutcome(error: unknown, effect: ToolEffect): unknown {
  const isUnknown = error instanceof OutboundError && (error.kind === "failed" || error.kind === "timeout");
  if (!isUnknown || effect !== "unsafe") return error;
  const message = `${error.message} Its outcome is unknown: it may have had its effect, so check before calling it again.`;
  return new OutboundError(error.kind, message, { cause: error });
}
