// One operation as a tool.

import type { JSONSchema7 } from "@ai-sdk/provider";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ToolContext, ToolEffect } from "../../core/ports/tool.ts";
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
  /** The operator's, secrets still in their places. */
  readonly headers: Readonly<Record<string, string>>;
  readonly outbound: Pick<Outbound, "guardedFetch">;
  readonly scrub: (value: JsonValue) => JsonValue;
}

/** More of an answer than any model reads. */
const maximumAnswerBytes = 1_024 * 1_024;
/** Beyond the time that any tool has: the turn's own limit ends a call. */
const timeoutMs = 600_000;

/** @throws TypeError when the operation's input cannot be checked. */
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

/** What a call may have done before it broke is what the model has to know. */
function withOutcome(error: unknown, effect: ToolEffect): unknown {
  const isOpen = error instanceof OutboundError && (error.kind === "failed" || error.kind === "timeout");
  if (!isOpen || effect !== "unsafe") return error;
  const message = `${error.message} Its outcome is unknown: it may have had its effect, so check before calling it again.`;
  return new OutboundError(error.kind, message, { cause: error });
}
