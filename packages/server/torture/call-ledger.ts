// The clients' certain knowledge of the calls that ran in them: claims granted, results sent, results acknowledged.

import { isDeepStrictEqual } from "node:util";
import type { Message, ToolResult } from "@colloquy/protocol";

/** Milliseconds for which a claim lasts (contract section 8). */
export const CLAIM_MS = 30_000;

/** What a call gives the model. */
export interface CallOutcome {
  readonly output: string;
  readonly is_error: boolean;
}

export const DENIED: CallOutcome = { output: "The user denied this call.", is_error: true };
const NOT_RUN = ["interrupted", "No client gave the result of this call in time."];
const UNKNOWN = "outcome unknown";

interface KnownCall {
  readonly isRepeatable: boolean;
  /** Granted claims by token, with the milliseconds of the store's clock between which they are live. */
  readonly claims: Map<string, { readonly from: number; until: number }>;
  /** Outcomes that a client may have stored, with the token of its claim. */
  readonly sent: { readonly token: string | null; readonly outcome: CallOutcome }[];
  acknowledged: { readonly outcome: CallOutcome; readonly since: number } | null;
}

/** Calls by their id. Methods that record a response return what is wrong with it; `null` if nothing is. */
export class CallLedger {
  readonly #calls = new Map<string, KnownCall>();

  /** Records that a client got a claim. */
  grant(id: string, isRepeatable: boolean, token: string, until: number): string | null {
    const { claims, acknowledged } = this.#know(id, isRepeatable);
    if (claims.has(token)) return "two clients got the same claim";
    const from = until - CLAIM_MS;
    const other = [...claims.values()].find(
      (claim) => !isRepeatable || (claim.from < until && from < claim.until),
    );
    claims.set(token, { from, until });
    if (acknowledged !== null) return "a claim was granted after the call had ended";
    return other === undefined ? null : `two claims were granted, ${until - other.until} ms apart`;
  }

  /** Records that a claim was renewed. */
  renew(id: string, token: string, until: number): string | null {
    const claim = this.#calls.get(id)?.claims.get(token);
    if (claim === undefined) return "a renewal gave another claim";
    claim.until = Math.max(claim.until, until);
    return null;
  }

  /** Returns true if the client with this token must be able to renew its claim and to report. */
  holds(id: string, token: string, at: number): boolean {
    return at < (this.#calls.get(id)?.claims.get(token)?.until ?? at);
  }

  /** Records that a client decides under a claim; `null` without one. Nobody may accept a token that was not granted. */
  send(id: string, isRepeatable: boolean, token: string | null, outcome: CallOutcome): void {
    const call = this.#know(id, isRepeatable);
    if (token === null || call.claims.has(token)) call.sent.push({ token, outcome });
  }

  /** Records that a sent outcome was acknowledged, at a time in milliseconds and a moment of the session's ledger. */
  acknowledge(
    id: string,
    token: string | null,
    outcome: CallOutcome,
    at: number,
    since: number,
  ): string | null {
    const call = this.#calls.get(id);
    if (call === undefined) throw new Error(`Nothing was sent for the call ${id}`);
    call.acknowledged ??= { outcome, since };
    const { claims, sent, acknowledged } = call;
    if (token !== null && !claims.has(token)) return "a result without the claim was accepted";
    if (!isDeepStrictEqual(acknowledged.outcome, outcome))
      return `${JSON.stringify(outcome)} was accepted after ${JSON.stringify(acknowledged.outcome)}`;
    // A client that decides as the holder of the claim has done gets the same answer.
    const holders = sent.flatMap((one) => (isDeepStrictEqual(one.outcome, outcome) ? [one.token] : []));
    const isHeld = [...claims].some(
      ([other, { until }]) => !holders.includes(other) && (!call.isRepeatable || at < until),
    );
    return isHeld ? "it was decided without the claim of the client that held it" : null;
  }

  /** Forgets the calls of messages that an edit has removed. */
  forget(messages: readonly Message[]): void {
    for (const id of messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.id))
      this.#calls.delete(id);
  }

  /** Returns what is wrong with the results in a snapshot that was requested at moment `asked`, by call. */
  problemsIn(messages: readonly Message[], asked: number): readonly (readonly [string, string])[] {
    const shown = new Map(
      messages.flatMap((message) =>
        (message.tool_results ?? []).map((result) => [result.call_id, { result, message }] as const),
      ),
    );
    return Array.from(this.#calls, ([id, call]) => {
      const found = shown.get(id);
      if (found !== undefined) return [id, problemOf(call, found.result, found.message)] as const;
      const isLost = call.acknowledged !== null && call.acknowledged.since < asked;
      return [id, isLost ? "has lost its acknowledged result" : null] as const;
    }).flatMap(([id, problem]) => (problem === null ? [] : [[id, problem] as const]));
  }

  #know(id: string, isRepeatable: boolean): KnownCall {
    const known = this.#calls.get(id);
    if (known !== undefined) return known;
    const call: KnownCall = { isRepeatable, claims: new Map(), sent: [], acknowledged: null };
    this.#calls.set(id, call);
    return call;
  }
}

function problemOf(call: KnownCall, { output, is_error }: ToolResult, message: Message): string | null {
  const expected =
    call.acknowledged === null
      ? [...call.sent.map(({ outcome }) => outcome), ...ends(call)]
      : [call.acknowledged.outcome];
  const found = expected.find((outcome) => isDeepStrictEqual(outcome, { output, is_error }));
  if (found === undefined)
    return `has the result ${JSON.stringify(output)}, expected is one of ${JSON.stringify(expected)}`;
  // A message that steered the turn may have taken the model's attention.
  const isAnswer = message.status === "complete" && message.steps?.to === undefined;
  if (isAnswer && !message.content.includes(found.output))
    return `has the result ${found.output}, and the model answered ${message.content.slice(0, 200)}`;
  return null;
}

/** Returns the possible outcomes without a client's answer. A claimed unsafe call may have run. */
function ends({ isRepeatable, claims }: KnownCall): readonly CallOutcome[] {
  const outputs = isRepeatable ? NOT_RUN : claims.size > 0 ? [UNKNOWN] : [...NOT_RUN, UNKNOWN];
  return outputs.map((output) => ({ output, is_error: true }));
}
