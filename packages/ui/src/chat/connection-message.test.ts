import { ColloquyError } from "@colloquy/client";
import { expect, it } from "vitest";
import { connectionMessage } from "./connection-message.ts";

const UNREACHABLE = new ColloquyError("The service cannot be reached.", { code: "network_failed" });

it.each(["idle", "connecting", "live"] as const)("shows nothing while %s", (state) => {
  expect(connectionMessage({ state, error: null })).toBeNull();
});

it("announces a reconnect while the connection is lost", () => {
  expect(connectionMessage({ state: "waiting", error: UNREACHABLE })).toEqual({
    sentence: "The connection is lost. The service cannot be reached. Trying again…",
    help: null,
  });
  expect(connectionMessage({ state: "waiting", error: null })?.sentence).toBe(
    "The connection is lost. Trying again…",
  );
});

it("explains why updates are delayed while it polls", () => {
  expect(connectionMessage({ state: "polling", error: null })).toEqual({
    sentence: "Live updates are blocked. Checking for updates every few seconds.",
    help: null,
  });
  const taken = new ColloquyError("Taken.", { code: "no_stream_slot" });
  expect(connectionMessage({ state: "polling", error: taken })?.sentence).toBe(
    "Other tabs use all live connections. Checking for updates every few seconds.",
  );
  const late = new ColloquyError("Late.", { code: "stream_delayed" });
  expect(connectionMessage({ state: "polling", error: late })?.sentence).toBe(
    "A proxy delays live updates. Checking for updates every few seconds.",
  );
  const detail = "This session has 10 open event streams. Close one of them first.";
  const refused = new ColloquyError(detail, { code: "too_many_streams", status: 429 });
  expect(connectionMessage({ state: "polling", error: refused })?.sentence).toBe(
    `Live updates are blocked. ${detail} Checking for updates every few seconds.`,
  );
});

it("adds advice to a refusal", () => {
  const noKey = new ColloquyError("This App needs its key.", { code: "app_key_invalid", status: 401 });
  expect(connectionMessage({ state: "failed", error: noKey })).toEqual({
    sentence: "This conversation cannot be shown. This App needs its key.",
    help: "key",
  });
  expect(connectionMessage({ state: "failed", error: UNREACHABLE })?.help).toBe("retry");
  expect(connectionMessage({ state: "deleted", error: null })?.help).toBeNull();
  const noId = new ColloquyError("Send a UUID.", { code: "session_id_invalid", status: 400 });
  expect(connectionMessage({ state: "failed", error: noId })).toEqual({
    sentence: "There is no conversation at this address.",
    help: "new-chat",
  });
});
