import { describe, expect, it } from "vitest";
import { ServiceError } from "../core/errors.ts";
import { addressKey, PlaceLimiter, WindowLimiter } from "./rate-limits.ts";

function refusal(action: () => void): ServiceError | null {
  try {
    action();
    return null;
  } catch (error) {
    return error as ServiceError;
  }
}

describe("a number of times a minute", () => {
  it("is let through, then refused until the minute is over", () => {
    let now = 0;
    const limiter = new WindowLimiter(2, () => now);
    limiter.take("a", "messages");
    now = 10_000;
    limiter.take("a", "messages");
    const refused = refusal(() => limiter.take("a", "messages"));
    expect(refused).toMatchObject({ status: 429, code: "rate_limited", headers: { "retry-after": "50" } });
    limiter.take("b", "messages");
    now = 59_999;
    expect(refusal(() => limiter.take("a", "messages"))?.headers["retry-after"]).toBe("1");
    now = 60_000;
    expect(refusal(() => limiter.take("a", "messages"))).toBeNull();
  });

  it("remembers no more addresses than it may", () => {
    const limiter = new WindowLimiter(1, () => 0, 2);
    for (const key of ["a", "b", "c"]) limiter.take(key, "messages");
    expect(refusal(() => limiter.take("c", "messages"))).toBeInstanceOf(ServiceError);
    expect(refusal(() => limiter.take("a", "messages"))).toBeNull();
  });
});

describe("a number of places", () => {
  it("is held until it is given back", () => {
    const limiter = new PlaceLimiter(2);
    limiter.take("a", "streams");
    limiter.take("a", "streams");
    expect(refusal(() => limiter.take("a", "streams"))).toMatchObject({ status: 429, code: "rate_limited" });
    limiter.take("b", "streams");
    limiter.give("a");
    expect(refusal(() => limiter.take("a", "streams"))).toBeNull();
  });
});

describe("what an address counts as", () => {
  it.each([
    [undefined, ""],
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("%s is %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
