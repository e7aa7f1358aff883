import { expect, it } from "vitest";
import { Channel } from "./feed.ts";
import { StreamingTexts } from "./streaming-texts.ts";
import { titled } from "./testing/fake-event-log.ts";

it("stays at the newest incarnation when events of an ended one arrive late", () => {
  const following = { ready: Promise.resolve(), stop: () => undefined };
  const channel = new Channel("s", following, new StreamingTexts());
  channel.sendEvents("a", [titled(1)]);
  channel.end("a");
  channel.sendEvents("b", [titled(1)]);
  channel.sendEvents("a", [titled(2)]);
  expect(channel).toMatchObject({ incarnation: "b", head: 1 });
});
