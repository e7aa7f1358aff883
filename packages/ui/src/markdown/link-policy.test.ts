import { describe, expect, it } from "vitest";
import { followedUrl, hostOf } from "./link-policy.ts";

describe("links in answers", () => {
  it.each([
    ["https://example.com/a?b=c#d", "https://example.com/a?b=c#d"],
    ["http://example.com", "http://example.com/"],
    ["HTTPS://EXAMPLE.com/", "https://example.com/"],
    ["mailto:ann@example.com", "mailto:ann@example.com"],
    ["https://example.com/a b", "https://example.com/a%20b"],
  ])("%s is followed", (url, followed) => {
    expect(followedUrl(url)).toBe(followed);
  });

  it.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "java\tscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "blob:https://example.com/x",
    "file:///etc/passwd",
    "filesystem:https://example.com/x",
    "/api/sessions",
    "//example.com/x",
    "#/operate/keys",
    "docs/api.md",
    "?app=x",
    "about:blank",
    "tel:123",
    "https://",
    "",
  ])("%j is not followed", (url) => {
    expect(followedUrl(url)).toBeNull();
  });
});

it("returns the host of an image", () => {
  expect(hostOf("https://pictures.example.com:8443/a.png")).toBe("pictures.example.com:8443");
  expect(hostOf("data:image/png;base64,AA")).toBeNull();
  expect(hostOf("a.png")).toBeNull();
});
