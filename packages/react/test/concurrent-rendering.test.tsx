// Transitions, Suspense and reloaded modules while an answer streams.

import { openPage, type Page } from "./harness.tsx";
import type { Client } from "@colloquy/client";
import { lazy, startTransition, Suspense, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ColloquyProvider, useSession } from "../src/index.ts";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const OTHER = "00000000-0000-4000-8000-000000000001";

let page: Page;
beforeEach(async () => {
  page = await openPage();
});
afterEach(() => page.stop());

/** Shows the texts of a session. A slow one keeps a concurrent render busy, so that events arrive in between. */
function Texts({ id, slowness = 0 }: { readonly id: string; readonly slowness?: number }): ReactNode {
  const { snapshot } = useSession(id);
  const end = performance.now() + slowness;
  while (performance.now() < end);
  return (
    <p>
      {snapshot?.session_id ?? id}={snapshot?.messages.map(({ content }) => content).join("|")}
    </p>
  );
}

/** Sends a message and returns the running call of its answer. */
async function startAnswer(id: string) {
  await page.direct.sendMessage(id, "Hi");
  return await page.model.next();
}

it("shows the same snapshot everywhere in each commit, also in a transition", async () => {
  const commits: (string | null)[][] = [];
  let turn = (_to: number): void => undefined;
  function Columns(): ReactNode {
    const root = useRef<HTMLDivElement>(null);
    const [round, setRound] = useState(0);
    turn = setRound;
    useLayoutEffect(() => {
      const observer = new MutationObserver(record);
      function record(): void {
        commits.push([...(root.current?.querySelectorAll("p") ?? [])].map(({ textContent }) => textContent));
      }
      observer.observe(root.current!, { characterData: true, childList: true, subtree: true });
      return () => observer.disconnect();
    }, []);
    return (
      <div ref={root} data-round={round}>
        {[0, 1, 2, 3].map((column) => (
          <Texts key={`${column}-${round}`} id={ID} slowness={5} />
        ))}
      </div>
    );
  }
  const { container } = page.show(<Columns />);
  const call = await startAnswer(ID);
  for (let round = 1; round <= 10; round += 1) {
    startTransition(() => turn(round));
    call.say(`${round} `);
    await page.until(() => container.textContent?.endsWith(`${round} `) ?? false);
  }
  call.finish();
  expect(commits.length).toBeGreaterThanOrEqual(10);
  for (const texts of commits) expect(new Set(texts).size).toBeLessThanOrEqual(1);
});

it("never shows another session's messages while a transition switches sessions", async () => {
  const shown: string[] = [];
  let choose = (_id: string): void => undefined;
  function Chat(): ReactNode {
    const [id, setId] = useState(ID);
    choose = setId;
    const { snapshot } = useSession(id);
    if (snapshot !== null) shown.push(`${id} ${snapshot.session_id}`);
    return <p>{snapshot?.messages.map(({ content }) => content).join("|") ?? "empty"}</p>;
  }
  const { container } = page.show(<Chat />);
  const call = await startAnswer(ID);
  call.say("one ");
  await page.until(() => container.textContent === "Hi|one ");
  startTransition(() => choose(OTHER));
  call.say("two ");
  await page.until(() => container.textContent === "" || container.textContent === "empty");
  startTransition(() => choose(ID));
  call.say("three").finish();
  await page.until(() => container.textContent === "Hi|one two three");
  expect(shown.filter((pair) => new Set(pair.split(" ")).size > 1)).toEqual([]);
});

it("keeps one stream while a sibling suspends, and shows what arrived in the meantime", async () => {
  let load = (_module: { default: () => ReactNode }): void => undefined;
  const Late = lazy(() => new Promise<{ default: () => ReactNode }>((resolve) => (load = resolve)));
  let open = (_isOpen: boolean): void => undefined;
  function Chat(): ReactNode {
    const [isOpen, setOpen] = useState(false);
    open = setOpen;
    return (
      <Suspense fallback={<i>loading</i>}>
        <Texts id={ID} />
        {isOpen && <Late />}
      </Suspense>
    );
  }
  const { container } = page.show(<Chat />);
  const call = await startAnswer(ID);
  call.say("one ");
  await page.until(() => container.textContent?.endsWith("one ") ?? false);
  open(true);
  await page.until(() => container.textContent?.includes("loading") ?? false);
  call.say("two");
  load({ default: () => <b>loaded</b> });
  await page.until(() => container.querySelector("b") !== null);
  await page.until(() => container.querySelector("p")?.textContent?.endsWith("one two") ?? false);
  expect(page.asked("GET /api/updates")).toBe(1);
  expect(page.proxy.streams).toBe(1);
  call.finish();
});

it("switches to the client of a reloaded module, and closes the previous client's streams", async () => {
  const app = (client: Client): ReactNode => (
    <ColloquyProvider client={client}>
      <Texts id={ID} />
    </ColloquyProvider>
  );
  const { container, rerender } = page.show(app(page.page));
  const call = await startAnswer(ID);
  call.say("one ");
  await page.until(() => container.textContent?.endsWith("one ") ?? false);
  rerender(app(page.client()));
  call.say("two").finish();
  await page.until(() => container.textContent?.endsWith("one two") ?? false);
  await page.until(() => page.proxy.streams === 1);
  expect(container.textContent).toBe(`${ID}=Hi|one two`);
});
