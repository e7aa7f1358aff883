// Conversations that together contain everything the console can show, for visual tests.

import { vi } from "vitest";
import type { ConsoleService } from "./console-service.ts";

const PATIENCE = { timeout: 20_000 };
export const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

const ANSWER = `Green tea wants water of **70 to 80 °C**: boiling water burns the leaves and makes it bitter.

| Tea | Water | Time |
|---|---|---|
| Sencha | 75 °C | 90 seconds |
| Gyokuro | 60 °C | 2 minutes |
| Genmaicha | 80 °C | 1 minute |

1. Let the kettle stand for *five minutes* after it has boiled.
2. Warm the pot, and pour the leaves out after the time above.

> The second infusion takes half as long.

In code, with [a thermometer](https://example.com/thermometer) at hand:

\`\`\`ts
const isReady = (celsius: number): boolean => celsius >= 70 && celsius <= 80;
\`\`\`

![A cup of tea](https://example.com/cup.png)`;

/** An idle conversation: an answer with all of Markdown, a successful and a failed call, a stopped answer. */
export async function restingConversation({ direct, model }: ConsoleService, id: string): Promise<void> {
  const first = direct.sendMessage(id, "How warm should the water be for green tea?", { wait: true });
  (await model.next()).say(ANSWER).finish();
  await first;
  const second = direct.sendMessage(id, "What time is it in Tokyo? I would like to call my tea merchant.", {
    wait: true,
  });
  (await model.next())
    .callTool("current_time", { timezone: "Asia/Tokyo" })
    .callTool("current_time", { timezone: "Tea/Time" })
    .finish("tool-calls");
  (await model.next()).say("It is the middle of the night there. Call after breakfast.").finish();
  await second;
  await direct.sendMessage(id, "Count all the leaves in the pot.");
  (await model.next()).say("One, two, three");
  await vi.waitUntil(
    async () => (await direct.getState(id)).messages.at(-1)?.content === "One, two, three",
    PATIENCE,
  );
  await direct.interrupt(id);
  await direct.renameThread(id, "Green tea, and how warm");
}

/** A conversation with pending actions: an approval, a question, a signature and a transaction. */
export async function askingConversation({ direct, model }: ConsoleService, id: string): Promise<void> {
  await direct.sendMessage(id, "Order three cups of sencha, and pay for them.", { publicKey: ACCOUNT });
  (await model.next())
    .callTool("calculator", { expression: "3 * 0.004" })
    .callTool("ask_user", { question: "How strong should it be?", choices: ["Light", "Strong"] })
    .callTool("wallet_request_signature", {
      typed_data: {
        domain: { name: "Tea house", version: "1", chainId: 1 },
        primaryType: "Order",
        types: {
          Order: [
            { name: "tea", type: "string" },
            { name: "cups", type: "uint256" },
          ],
        },
        message: { tea: "Sencha", cups: "3" },
      },
    })
    .callTool("wallet_request_transaction", { to: ACCOUNT, value_ether: "0.012" })
    .finish("tool-calls");
  await vi.waitUntil(async () => (await direct.getState(id)).pending_actions.length === 4, PATIENCE);
  await direct.renameThread(id, "Three cups of sencha");
}

/** A streaming conversation: a successful call, a table, and the start of a sentence. */
export async function streamingConversation({ direct, model }: ConsoleService, id: string): Promise<void> {
  await direct.sendMessage(id, "What time is it in Tokyo? And how warm should the water be for their teas?", {
    publicKey: ACCOUNT,
  });
  (await model.next()).callTool("current_time", { timezone: "Asia/Tokyo" }).finish("tool-calls");
  (await model.next()).say(GROWING);
  await vi.waitUntil(async () => (await direct.getState(id)).messages.at(-1)?.content === GROWING, PATIENCE);
  await direct.renameThread(id, "Tokyo, and its teas");
}

const GROWING = `It is early evening in **Tokyo**, 18:41, so the shops are still open. As for their teas:

| Tea | Water | Time |
|---|---|---|
| Sencha | 75 °C | 90 seconds |
| Gyokuro | 60 °C | 2 minutes |
| Genmaicha | 80 °C | 1 minute |

The finer the leaf, the cooler the water: boiling water burns it, and what was sweet becomes bitter. If you have no thermometer, let`;
