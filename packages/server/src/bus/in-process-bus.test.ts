import { describe, expect, it } from "vitest";
import { InProcessBus } from "./in-process-bus.ts";

const DELETED = { kind: "deleted", life: "a" } as const;

function busAndErrors() {
  const errors: object[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
  return { bus: new InProcessBus(logger), errors };
}

describe("the bus of one process", () => {
  it("has told every listener when a publish returns, and tells one that stopped nothing more", () => {
    const { bus } = busAndErrors();
    const heard: string[] = [];
    const stop = bus.listen({ onNote: (id, { kind }) => heard.push(`first ${id} ${kind}`) });
    bus.listen({ onNote: (id, { kind }) => heard.push(`second ${id} ${kind}`) });
    bus.publish("x", DELETED);
    stop();
    bus.publish("y", DELETED);
    expect(heard).toEqual(["first x deleted", "second x deleted", "second y deleted"]);
  });

  it("lets no listener that fails fail the others, or the one who announces", () => {
    const { bus, errors } = busAndErrors();
    let heard = 0;
    bus.listen({
      onNote: () => {
        throw new Error("broken");
      },
    });
    bus.listen({ onNote: () => (heard += 1) });
    bus.publish("x", DELETED);
    expect(heard).toBe(1);
    expect(errors).toMatchObject([{ kind: "deleted" }]);
  });
});
