import { expect, it } from "vitest";
import { withoutSecrets } from "./recorded-request.ts";

const SECRETS = "http://127.0.0.1:8080/api/secrets?client_id=a";

const recorded = (url: string, body: string | null): string =>
  JSON.stringify(withoutSecrets({ method: "PUT", url, headers: [], body }));

it("removes keys from all headers, in any spelling", () => {
  const call = withoutSecrets({
    method: "GET",
    url: "http://127.0.0.1:8080/api/state",
    headers: [
      ["service-app-key", "Bearer s3cret"],
      ["AUTHORIZATION", "s3cret"],
      ["X-Session-Id", "kept"],
    ],
    body: null,
  });
  expect(JSON.stringify(call)).not.toContain("s3cret");
  expect(call.headers).toContainEqual({ name: "X-Session-Id", value: "kept", variable: null });
});

it("keeps the names but not the values of secrets", () => {
  expect(recorded(SECRETS, `{"ALCHEMY_KEY":"s3cret"}`)).toContain("<value of ALCHEMY_KEY>");
  for (const body of [`{"A":"s3cret"}`, `["s3cret"]`, `"s3cret"`, "s3cret", `{"A":{"B":"s3cret"}}`])
    expect(recorded(SECRETS, body)).not.toContain("s3cret");
});

it("keeps every other body unchanged", () => {
  const body = `{"message":"/api/secrets s3cret"}`;
  const call = withoutSecrets({ method: "POST", url: "http://127.0.0.1:8080/api/chat", headers: [], body });
  expect(call.body).toBe(body);
});
