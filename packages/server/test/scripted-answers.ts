// Responses of the interleavings tests' model.

import { z } from "zod";
import type { AppSettings, OwnTool } from "@colloquy/engine/internal/core/app-settings";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";

export type Speech = "say" | "finish" | "call a tool" | "ask a person";

/** Continues the answer or ends the call; returns whether it ended. */
export function speak(call: ScriptedCall, speech: Speech, choice: number): boolean {
  switch (speech) {
    case "say":
      call.say("… ");
      return false;
    case "finish":
      answer(call);
      return true;
    case "ask a person":
      ask(call, choice);
      return true;
    case "call a tool":
      if (choice % 2 === 0) call.callTool("pay", { amount: 1 }).finish("tool-calls");
      else call.callTool("calculator", { expression: `${choice} + 1` }).finish("tool-calls");
      return true;
  }
}

export function answer(call: ScriptedCall): void {
  call.say(`answer to ${questionOf(call)}`).finish();
}

/** Returns the message that a call answers: the user's last one. Messages in a row are parts of one line. */
export function questionOf(call: ScriptedCall): string {
  const user = call.prompt.findLast((line) => line.startsWith("user: ")) ?? "";
  return [...user.matchAll(/"text":"([^"]*)"/g)].at(-1)?.[1] ?? user;
}

/** Makes calls, some of which need approval or run in a client. */
function ask(call: ScriptedCall, choice: number): void {
  if (choice > 2) call.callTool("look", {});
  else for (let n = 0; n <= choice; n += 1) call.callTool("pay", { amount: 2 });
  if (choice % 2 === 0) call.callTool("calculator", { expression: "1 + 1" });
  call.finish("tool-calls");
}

/**
 * Configures the App with a tool that runs in a client, and one that has effects and needs approval for some; each of its runs adds the
 * call's id to `paid`.
 */
export function paying(app: AppSettings, paid: string[]): AppSettings {
  const pay: OwnTool = {
    inputSchema: z.object({ amount: z.number() }),
    execute: (_input: never, { toolCallId }: { readonly toolCallId: string }) => {
      paid.push(toolCallId);
      return "paid";
    },
  };
  const needsPerson = (input: { amount: number }): boolean => input.amount > 1;
  const client = { look: { description: "Looks where the user is", inputSchema: { type: "object" } } };
  return { ...app, tools: { ...app.tools, own: { pay }, client, approvals: { pay: needsPerson } } };
}

/** Returns the calls whose effect happened twice. */
export function repeatedEffects(paid: readonly string[]): readonly string[] {
  return paid.filter((id, index) => paid.indexOf(id) !== index).map((id) => `the call ${id} ran twice`);
}
