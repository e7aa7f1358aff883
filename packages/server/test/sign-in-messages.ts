// Wallets of a test, and the messages that they sign (EIP-4361).

import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { createSiweMessage } from "viem/siwe";
import { type Answer, type Call, send } from "./black-box/client.ts";

export type { PrivateKeyAccount };

export const newAccount = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey());

export const addressOfWallet = ({ address }: { readonly address: string }): string => address.toLowerCase();

type Changes = Partial<Parameters<typeof createSiweMessage>[0]>;

/** Signs in wallets at a service. */
export class SignIns {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async nonce(): Promise<string> {
    const answer = await send(this.#url, "POST", "/api/auth/siwe/nonce");
    return (answer.json() as { nonce: string }).nonce;
  }

  /** Returns a message of an account with a new nonce. */
  async message({ address }: Pick<PrivateKeyAccount, "address">, changes: Changes = {}): Promise<string> {
    const { host, origin } = new URL(this.#url);
    const nonce = changes.nonce ?? (await this.nonce());
    // viem knows no address of several nodes as a domain, but 127.0.0.1 and localhost.
    return createSiweMessage({
      address,
      domain: host,
      uri: origin,
      version: "1",
      chainId: 1,
      ...changes,
      nonce,
    });
  }

  verify(message: unknown, signature: unknown, call: Call = {}): Promise<Answer> {
    return send(this.#url, "POST", "/api/auth/siwe/verify", { ...call, json: { message, signature } });
  }

  refresh(call: Call): Promise<Answer> {
    return send(this.#url, "POST", "/api/auth/siwe/refresh", call);
  }

  /** Returns the answer to the message of an account, signed by it. */
  async signIn(account: PrivateKeyAccount, call: Call = {}, changes: Changes = {}): Promise<Answer> {
    const message = await this.message(account, changes);
    return await this.verify(message, await account.signMessage({ message }), call);
  }
}
