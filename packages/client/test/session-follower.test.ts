// A subscriber reaches the service's snapshot and receives every event once, despite random faults.

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ScriptedCall } from "../../testing/src/models/scripted-model.ts";
import { fold, type SessionUpdate, type Snapshot } from "../src/index.ts";
import type { Fault } from "./fault-proxy.ts";
import { serve, type Served } from "./served.ts";

let served: Served;

beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.stop());

type Step =
  | { readonly do: "send" | "finish" | "tool" | "interrupt" | "rename" | "cut" | "wait" }
  | { readonly do: "say"; readonly text: string }
  | { readonly do: "break"; readonly fault: Fault };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      text: fc.string({ minLength: 1, unit: "grapheme" }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("finish", "tool", "interrupt", "rename", "cut", "wait") }),
  },
  // Breaks streams in the middle of frames.
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("break" as const),
      fault: fc.oneof(fc.nat(2_000), fc.constantFrom("refuse", "swallow")),
    }),
  },
);

/** Acts as the model: forwards the test's text to the call in progress. */
function answering(): { readonly stop: () => void; speak(say: (call: ScriptedCall) => void): void } {
  let isOver = false;
  let current: ScriptedCall | null = null;
  const take = async (): Promise<void> => {
    while (!isOver) {
      if (served.model.waitingCalls > 0) current = await served.model.next();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const taking = take();
  void taking;
  return {
    stop: () => void (isOver = true),
    speak: (say) => {
      try {
        if (current !== null) say(current);
      } catch {
        // The call was interrupted or has ended.
      }
    },
  };
}

const partialStep: fc.Arbitrary<Step | { readonly do: "edit" | "earlier" | "rate"; readonly at: number }> =
  fc.oneof(
    { weight: 5, arbitrary: step },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("edit", "earlier", "rate"), at: fc.nat(20) }) },
  );

it("reaches the service's snapshot when only the latest messages are loaded", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(partialStep, { minLength: 5, maxLength: 20 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, messages) => {
        const id = randomUUID();
        for (let turn = 0; turn < 4; turn += 1) {
          await served.direct.sendMessage(id, `Question ${turn}`);
          (await served.model.next()).say(`Answer ${turn}`).finish();
          await served.direct.getState(id, { wait: true });
        }
        const session = served.client().session(id, { messages });
        const model = answering();
        session.subscribe(() => undefined);
        await served.until(() => session.getSnapshot() !== null);
        expect(session.getSnapshot()?.messages).toHaveLength(messages);
        for (const step of steps) {
          if (step.do === "send") await served.direct.sendMessage(id, "Hi").catch(() => undefined);
          if (step.do === "say") model.speak((call) => call.say(step.text));
          if (step.do === "finish") model.speak((call) => call.finish());
          if (step.do === "interrupt") await served.direct.interrupt(id);
          if (step.do === "cut") served.proxy.cut();
          if (step.do === "wait") await served.clock.advance(1_000);
          if (step.do === "earlier") await session.loadEarlier({ count: 1 + (step.at % 3) });
          if (step.do === "edit" || step.do === "rate") {
            const all = (await served.direct.getState(id)).messages;
            const other = all[step.at % all.length]!.id;
            // The service rejects edits of answers and feedback on questions.
            const work =
              step.do === "edit"
                ? served.direct.sendMessage(id, "Bye", { replaces: other })
                : served.direct.giveFeedback(id, other, { score: step.at % 2 === 0 ? 1 : -1 });
            await work.catch(() => undefined);
          }
          if (step.do === "break")
            served.proxy.plan = ({ path }) => (path === "/api/updates" ? step.fault : null);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
        served.proxy.plan = () => null;
        await served.direct.interrupt(id);
        await new Promise((resolve) => setTimeout(resolve, 5));
        const expected = async (): Promise<Snapshot> => {
          const { messages, ...rest } = await served.direct.getState(id);
          const { messages_before = -1, last_event_id } = session.getSnapshot()!;
          // Events of messages that are not loaded change no `last_event_id`.
          return { ...rest, messages: messages.slice(messages_before), messages_before, last_event_id };
        };
        let end = await expected();
        for (let round = 0; round < 2_000 && !isDeepStrictEqual(session.getSnapshot(), end); round += 1) {
          await served.clock.advance(200);
          await new Promise((resolve) => setTimeout(resolve, 1));
          end = await expected();
        }
        expect(session.getSnapshot()).toEqual(end);
        while ((session.getSnapshot()?.messages_before ?? 0) > 0) await session.loadEarlier({ count: 3 });
        // A late event may arrive while the service is asked, so ask it first.
        end = await expected();
        expect(session.getSnapshot()).toEqual(end);
        session.stop();
        model.stop();
        await served.until(() => served.clock.timers === 0);
      },
    ),
    { numRuns: 25, endOnFailure: true },
  );
});

it("reaches the service's snapshot despite random faults", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const session = served.client().session(randomUUID());
      const model = answering();
      const updates: SessionUpdate[] = [];
      let first: Snapshot | null = null;
      session.subscribe(() => (first ??= session.getSnapshot()));
      const loop = (async () => {
        for await (const update of session.updates()) updates.push(update);
      })();
      await served.until(() => first !== null);
      for (const step of steps) {
        if (step.do === "send") await served.direct.sendMessage(session.id, "Hi").catch(() => undefined);
        if (step.do === "say") model.speak((call) => call.say(step.text));
        if (step.do === "finish") model.speak((call) => call.finish());
        if (step.do === "tool") model.speak((call) => call.callTool("current_time", {}).finish("tool-calls"));
        if (step.do === "interrupt") await served.direct.interrupt(session.id);
        if (step.do === "rename") await served.direct.renameThread(session.id, `Title ${updates.length}`);
        if (step.do === "cut") served.proxy.cut();
        if (step.do === "wait") await served.clock.advance(1_000);
        if (step.do === "break")
          served.proxy.plan = ({ path }) => (path === "/api/updates" ? step.fault : null);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      served.proxy.plan = () => null;
      await served.direct.interrupt(session.id);
      await new Promise((resolve) => setTimeout(resolve, 5));
      // A generated title may still arrive.
      let truth = await served.direct.getState(session.id);
      for (let round = 0; round < 2_000 && !isDeepStrictEqual(session.getSnapshot(), truth); round += 1) {
        await served.clock.advance(200);
        await new Promise((resolve) => setTimeout(resolve, 1));
        truth = await served.direct.getState(session.id);
      }
      expect(session.getSnapshot()).toEqual(truth);
      const read = updates.reduce((now, update) => fold(now, update, null)!.snapshot, first!);
      expect({ ...read, last_event_id: truth.last_event_id }).toEqual(truth);
      const made = updates.flatMap((update) =>
        update.type === "message_created" ? [update.message.id] : [],
      );
      // Compared without their order: a snapshot omits an empty answer, which may be created after later
      // messages. The fold above has checked the order.
      expect(made.toSorted()).toEqual(truth.messages.map(({ id }) => id).toSorted());
      session.stop();
      model.stop();
      await loop;
      await served.until(() => served.clock.timers === 0);
    }),
    { numRuns: 25, endOnFailure: true },
  );
});
