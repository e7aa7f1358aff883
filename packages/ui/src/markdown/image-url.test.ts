import { expect, it } from "vitest";
import { imageUrl } from "./image-url.ts";

const hosts = ["images.example.com", "cdn.example:8443"];
const proxy = "https://proxy.example/?url={url}&w=800";

it.each([
  ["https://images.example.com/a.png?x=1", { hosts }, "https://images.example.com/a.png?x=1"],
  ["https://cdn.example:8443/a.png", { hosts }, "https://cdn.example:8443/a.png"],
  ["https://cdn.example/a.png", { hosts }, null],
  ["https://evil.images.example.com/a.png", { hosts }, null],
  ["https://images.example.com.evil.example/a.png", { hosts }, null],
  ["https://images.example.com@evil.example/a.png", { hosts }, null],
  ["https://user@images.example.com/a.png", { hosts }, null],
  ["http://images.example.com/a.png", { hosts }, null],
  ["mailto:images.example.com", { hosts, proxy }, null],
  [
    "https://a.example/$&.png",
    { proxy },
    "https://proxy.example/?url=https%3A%2F%2Fa.example%2F%24%26.png&w=800",
  ],
  ["http://a.example/", { hosts, proxy }, "https://proxy.example/?url=http%3A%2F%2Fa.example%2F&w=800"],
  ["https://images.example.com/a.png", {}, null],
])("%s with %j loads from %s", (url, allowed, from) => {
  expect(imageUrl(url, allowed)).toBe(from);
});
