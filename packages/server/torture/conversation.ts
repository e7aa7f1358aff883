// Unique messages to the demo model, and the answers that it must give (contract section 4).

import { CLIENT_TOOLS } from "./client-tools.ts";
import type { Random } from "./harness/random.ts";
import { officeMessage } from "./office-rules.ts";

const COUNT = /^count to (\d+) /;
const CALL = /^call (\w+) /;
/** Share of the messages to the office that ask for a call with approvers. */
const TO_APPROVERS = 0.3;
const PRODUCT = /^what is (\d+) \* (\d+)\?$/;

/**
 * Returns a new message. `serial` is unique within the run. A counting answer takes up to `longest` / 20
 * seconds. Some messages to the office ask for a call with approvers.
 */
export function nextMessage(random: Random, serial: number, longest: number, isToOffice = false): string {
  if (isToOffice && random.chance(TO_APPROVERS)) return officeMessage(random, serial);
  const kind = random.next();
  if (kind < 0.25) return `count to ${random.integer(2, longest)} for message ${serial}`;
  if (kind < 0.4) return `what is ${1000 + serial} * ${random.integer(2, 9)}?`;
  if (kind < 0.54) return `call ${random.pick(Object.keys(CLIENT_TOOLS))} {"button":${serial}}`;
  return `This is message ${serial}${" and some more".repeat(random.integer(0, 20))}.`;
}

/** Returns the text of a counting answer with its steps on one line. */
function joinSteps(answer: string): string {
  return answer.replaceAll("\n\n", " ");
}

/** Returns true if a complete answer belongs to this message. */
export function answerFits(message: string, answer: string): boolean {
  const count = COUNT.exec(message)?.[1];
  if (count !== undefined) {
    return joinSteps(answer) === Array.from({ length: Number(count) }, (_, index) => index + 1).join(" ");
  }
  const product = PRODUCT.exec(message);
  if (product !== null) return answer.includes(String(Number(product[1]) * Number(product[2])));
  const tool = CALL.exec(message)?.[1];
  if (tool !== undefined) return answer.startsWith(`The tool ${tool} `);
  return answer.includes(`"${message}"`);
}
