import { ColloquyError } from "@colloquy/client";
import { expect, it } from "vitest";
import { NO_STREAM_PLACE } from "../connection/stream-places.ts";
import { connectionWords } from "./connection-words.ts";

const UNREACHABLE = new ColloquyError("The service cannot be reached.", { code: "network_failed" });

it.each(["idle", "connecting", "live"] as const)("%s is nothing to tell", (state) => {
  expect(connectionWords({ state, error: null })).toBeNull();
});

it("a lost connection says that it mends itself", () => {
  expect(connectionWords({ state: "waiting", error: UNREACHABLE })).toEqual({
    sentence: "The connection is lost. The service cannot be reached. Trying again…",
    help: null,
  });
  expect(connectionWords({ state: "waiting", error: null })?.sentence).toBe(
    "The connection is lost. Trying again…",
  );
});

it("a page without a stream says that news come later, and why", () => {
  expect(connectionWords({ state: "polling", error: null })).toEqual({
    sentence: "Live updates do not get through. Asking for news every few seconds.",
    help: null,
  });
  const taken = new ColloquyError("Taken.", { code: NO_STREAM_PLACE, status: 429 });
  expect(connectionWords({ state: "polling", error: taken })?.sentence).toBe(
    "Other tabs have all live connections. Asking for news every few seconds.",
  );
  const detail = "This session has 10 open event streams. Close one of them first.";
  const refused = new ColloquyError(detail, { code: "too_many_streams", status: 429 });
  expect(connectionWords({ state: "polling", error: refused })?.sentence).toBe(
    `Live updates do not get through. ${detail} Asking for news every few seconds.`,
  );
});

it("a refusal says what a person can do", () => {
  const noKey = new ColloquyError("This App needs its key.", { code: "app_key_invalid", status: 401 });
  expect(connectionWords({ state: "failed", error: noKey })).toEqual({
    sentence: "This conversation cannot be shown. This App needs its key.",
    help: "key",
  });
  expect(connectionWords({ state: "failed", error: UNREACHABLE })?.help).toBe("retry");
  expect(connectionWords({ state: "deleted", error: null })?.help).toBeNull();
  const noId = new ColloquyError("Send a UUID.", { code: "session_id_invalid", status: 400 });
  expect(connectionWords({ state: "failed", error: noId })).toEqual({
    sentence: "There is no conversation at this address.",
    help: "new-chat",
  });
});
