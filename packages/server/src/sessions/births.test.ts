import { describe, expect, it } from "vitest";
import { Births } from "./births.ts";

describe("sessions that are created", () => {
  const asked: string[] = [];
  const yes = (who: string) => () => void asked.push(who);
  const no = (who: string) => () => {
    asked.push(who);
    throw new Error(`${who} may not`);
  };
  /** What `make` does in life: from then on the session is there. */
  function store() {
    const made: string[] = [];
    const looks: string[] = [];
    const isThere = async (id: string) => {
      looks.push(id);
      return made.includes(id);
    };
    const make = (id: string) => async () => void made.push(id);
    return { make, isThere, made, looks };
  }

  it("are asked for once, however many want one at the same time", async () => {
    asked.length = 0;
    const { make, isThere, made, looks } = store();
    const births = new Births(isThere);
    const all = ["a", "b", "c"].map((who) => births.make("one", yes(who), make("one")));
    await births.make("other", yes("d"), make("other"));
    expect(await Promise.all(all)).toHaveLength(3);
    expect(asked).toEqual(["a", "d"]);
    expect(looks).toEqual(["one", "other"]);
    expect(made.toSorted()).toEqual(["one", "one", "one", "other"]);
  });

  it("are asked for by the next one where the first was refused, and nobody is refused for another", async () => {
    asked.length = 0;
    const { make, isThere } = store();
    const births = new Births(isThere);
    const admits = [no("a"), no("b"), yes("c"), no("d")];
    const all = await Promise.allSettled(admits.map((admit) => births.make("one", admit, make("one"))));
    expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled", "fulfilled"]);
    expect(asked).toEqual(["a", "b", "c"]);
  });

  it("do not wait for each other where the store fails", async () => {
    asked.length = 0;
    const births = new Births(async () => false);
    const gate = Promise.withResolvers<never>();
    let under = 0;
    const fail = () => {
      under += 1;
      return under === 1 ? Promise.reject(new Error("away")) : gate.promise;
    };
    const all = ["a", "b", "c"].map((who) => births.make("one", yes(who), fail));
    await expect(all[0]).rejects.toThrow("away");
    while (under < 3) await Promise.resolve();
    gate.reject(new Error("away"));
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
    // Nothing of it is left.
    expect(await births.make("one", yes("d"), async () => "made")).toBe("made");
    expect(asked).toEqual(["a", "b", "c", "d"]);
  });
});
