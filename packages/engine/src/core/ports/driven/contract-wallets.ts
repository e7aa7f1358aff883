/** A message with its claimed signer. */
export interface SignedMessage {
  readonly text: string;
  readonly address: `0x${string}`;
  readonly chainId: number;
  readonly signature: `0x${string}`;
}

/** A contract, perhaps not deployed yet (ERC-6492), or the code that an account with a key has delegated to (EIP-7702). */
export type ContractSigner = "contract" | "delegate";

/** Verifies signatures of smart contract wallets, which have no private key. Implemented in tools/wallet/. */
export interface ContractWallets {
  /**
   * Returns what accepts the signature at the address (EIP-1271); `null` for nothing, and for an unconfigured
   * chain. Rejects if the chain's RPC endpoint fails.
   */
  signerOf(message: SignedMessage): Promise<ContractSigner | null>;
}
