import type { Snapshot } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { callMessage, runCall } from "./client-calls.ts";
import { createRandom } from "./harness/random.ts";

const CALL = { id: "a1", call_id: "c1", kind: "client_tool" };
const TAKEN = { status: 409, body: '{"code":"action_claimed"}' };
const granted = (claim: string) => ({ status: 200, body: JSON.stringify({ claim }) });

/** Runs a call whose two first claims are answered like this. */
async function run(...claims: readonly { readonly status: number; readonly body: string }[]) {
  const [found, posted]: [string[], unknown[]] = [[], []];
  const answers = [...claims];
  const ran = await runCall(
    {
      // Never denies.
      random: { ...createRandom(1), chance: () => false },
      state: () => Promise.resolve({ pending_actions: [CALL], is_processing: true } as unknown as Snapshot),
      post: (path, body) => {
        posted.push([path, body]);
        return Promise.resolve({ headers: {}, ...(answers.shift() ?? { status: 200, body: "{}" }) });
      },
      report: (kind) => void found.push(kind),
    },
    7,
  );
  return { ran, found, posted };
}

describe("a call of a client tool", () => {
  it("is claimed by one of two clients, renewed, and gets the output of that one", async () => {
    const { ran, found, posted } = await run(TAKEN, granted("mine"));
    expect(ran).toEqual({ id: "c1", output: { number: 7 } });
    expect(found).toEqual([]);
    expect(posted.slice(2)).toEqual([
      ["/api/actions/a1/claim", { claim: "mine" }],
      ["/api/actions/a1", { decision: "approve", claim: "mine", result: { output: { number: 7 } } }],
    ]);
  });

  it("must not be claimed by both clients, nor be held by neither", async () => {
    expect((await run(granted("one"), granted("two"))).found).toEqual(["claimed twice"]);
    expect((await run(TAKEN, TAKEN)).found).toEqual(["lost"]);
  });

  it("is over if a late request has ended its turn", async () => {
    const ended = { status: 409, body: '{"code":"action_decided"}' };
    expect(await run(ended, ended)).toMatchObject({ ran: null, found: [] });
  });

  it("is asked for with the number of the message", () => {
    expect(callMessage(createRandom(1), 12)).toMatch(/^call (?:place|look) \{"number":12\}$/);
  });
});
