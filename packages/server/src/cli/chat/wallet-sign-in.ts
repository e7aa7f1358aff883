// Wallet sign-in (EIP-4361) for Apps that require proof: the user signs a message elsewhere and pastes the signature.

import { createInterface } from "node:readline/promises";
import { type Client, type ClientOptions, ColloquyError, createClient, walletToken } from "@colloquy/client";
import { CommandFailure, type HostProcess } from "../command.ts";

/** Signs in, and returns the options of a client with access to the wallet's conversations. */
export async function withProof(
  host: HostProcess,
  options: ClientOptions & { readonly baseUrl: string },
  wallet: string,
): Promise<ClientOptions> {
  const client = createClient(options);
  if (!(await asksForProof(client, wallet))) return options;
  if (!host.stdin.isTTY || !host.stdout.isTTY) {
    const message =
      "Colloquy: The App asks for proof that you hold this wallet. Sign in where you can paste a signature: run the command in a terminal, without piped input. Or set COLLOQUY_TOKEN to a token that holds the wallet.";
    throw new CommandFailure(message);
  }
  const message = await messageFor(options.baseUrl, wallet, await client.createSignInNonce());
  const signature = await askForSignature(host, message);
  return { ...options, token: walletToken(await client.verifySignIn({ message, signature }), options) };
}

async function asksForProof(client: Client, wallet: string): Promise<boolean> {
  try {
    await client.listThreads(wallet, { limit: 1 });
    return false;
  } catch (error) {
    // The conversation reports any other failure.
    return error instanceof ColloquyError && error.code === "wallet_not_proved";
  }
}

async function messageFor(
  url: string,
  wallet: string,
  terms: Awaited<ReturnType<Client["createSignInNonce"]>>,
): Promise<string> {
  const { createSiweMessage, getAddress, isAddress } = await viem();
  if (!isAddress(wallet))
    throw new CommandFailure("Colloquy: --wallet: Only addresses with 0x can sign in.", 2);
  const { host, origin } = new URL(url);
  const address = getAddress(wallet);
  return createSiweMessage({ address, domain: host, uri: origin, version: "1", chainId: 1, ...terms });
}

async function viem() {
  try {
    const [{ createSiweMessage }, { getAddress, isAddress }] = await Promise.all([
      import("viem/siwe"),
      import("viem/utils"),
    ]);
    return { createSiweMessage, getAddress, isAddress };
  } catch (error) {
    const message = "Colloquy: To sign in with a wallet, install the package viem: npm install viem.";
    throw new CommandFailure(message, 1, { cause: error });
  }
}

async function askForSignature({ stdin, stdout }: HostProcess, message: string): Promise<string> {
  stdout.write(
    `The App asks for proof that you hold this wallet. Let the wallet sign this message, between the lines (personal_sign):\n\n---\n${message}\n---\n\n`,
  );
  const lines = createInterface({ input: stdin, output: stdout });
  const { signal, abort } = leaving();
  lines.once("close", abort);
  try {
    return (await lines.question("Signature (0x…): ", { signal })).trim();
  } catch (error) {
    throw new CommandFailure("Colloquy: No signature was given.", 130, { cause: error });
  } finally {
    lines.close();
  }
}

/** Ctrl-C and Ctrl-D close the input, for which `question` does not reject by itself. */
function leaving() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
