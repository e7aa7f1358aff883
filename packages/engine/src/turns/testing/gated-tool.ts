import type { JsonValue } from "../../core/json.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";
import { callKey } from "../tool-calls.ts";
import { startedTurn } from "./started-turn.ts";

/** A tool whose calls the test ends. */
export class GatedTool implements Tool {
  readonly name: string;
  readonly description = "A tool";
  readonly inputSchema = { type: "object" as const };
  readonly effect = "read";
  readonly started: string[] = [];
  readonly signals: AbortSignal[] = [];
  progress: (value: unknown) => void = () => undefined;
  readonly #gates = new Map<string, (value: JsonValue) => void>();

  constructor(name = "tool") {
    this.name = name;
  }

  execute(_input: unknown, context: Parameters<Tool["execute"]>[1]): Promise<JsonValue> {
    this.started.push(context.callId);
    this.signals.push(context.signal);
    this.progress = (value) => context.progress(value);
    return new Promise((resolve) => this.#gates.set(context.callId, resolve));
  }

  finish(callId: string, value: JsonValue): void {
    this.#gates.get(callKey(startedTurn(), callId))?.(value);
  }
}
