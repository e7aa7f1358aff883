// `colloquy chat --wallet` at an App that asks for proof, in a pseudo terminal.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { addressOfWallet, newAccount } from "../sign-in-messages.ts";
import { Service } from "./service.ts";
import { CTRL_C } from "./terminal.ts";
import { PROMPT, useSeats } from "./terminals.ts";

vi.setConfig({ testTimeout: 90_000 });

let service: Service;
beforeAll(
  async () => void (service = await Service.start({ config: { apps: { default: { wallets: "proved" } } } })),
);
afterAll(() => service.remove());
const { openTerminal, run } = useSeats(() => service);

const account = newAccount();
const chat = (columns = 200) => openTerminal(["chat", "--wallet", account.address], { columns });
const SIGNATURE = "Signature (0x…):";

it("asks for a signature and binds the conversation", async () => {
  const user = chat();
  await user.shows(SIGNATURE);
  const [, message = ""] = /\n---\n([\s\S]*?)\n---\n/.exec(user.text) ?? [];
  user.enter(await account.signMessage({ message }));
  await user.shows(PROMPT);
  user.enter("what is 12 * 7?");
  await user.shows(/12 \* 7 = 84\.\n>$/);
  user.enter("/threads");
  await user.shows(/ 1\* what is 12 \* 7\? .*\nType \/open/);
  const wallet = addressOfWallet(account);
  await expect(service.client.listThreads(wallet)).rejects.toMatchObject({ code: "wallet_not_proved" });
});

it("reports the problem of an invalid signature", async () => {
  const user = chat();
  await user.shows(SIGNATURE);
  user.enter(await newAccount().signMessage({ message: "something else" }));
  await user.shows("The message was not signed by its address.");
  expect(await user.exits()).toBe(1);
});

it("ends without a signature on Ctrl-C", async () => {
  const user = chat();
  await user.shows(SIGNATURE);
  user.type(CTRL_C);
  expect(await user.exits()).toBe(130);
});

it("names the variable for a token if there is no terminal to ask", async () => {
  const { code, errors } = await run(["chat", "--wallet", account.address, "hello"]);
  expect(code).toBe(1);
  expect(errors).toContain("COLLOQUY_TOKEN");
});
