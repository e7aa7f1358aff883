import { expect, it } from "vitest";
import { loadOnce } from "./load-once.ts";

it("loads once for any number of concurrent callers", async () => {
  let loads = 0;
  const loaded = Promise.withResolvers<string>();
  const read = loadOnce(() => {
    loads += 1;
    return loaded.promise;
  });
  expect(loads).toBe(0);
  const answers = Promise.all([read(), read()]);
  loaded.resolve("a");
  expect(await answers).toEqual(["a", "a"]);
  expect(await read()).toBe("a");
  expect(loads).toBe(1);
});

it("rejects all waiting callers on a failure, and retries for the next one", async () => {
  const loads = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let count = 0;
  const read = loadOnce(() => loads[count++]!.promise);
  const answers = Promise.allSettled([read(), read()]);
  loads[0]!.reject(new Error("no file is left"));
  expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const again = [read(), read()];
  loads[1]!.resolve("b");
  expect(await Promise.all(again)).toEqual(["b", "b"]);
  expect(count).toBe(2);
});
