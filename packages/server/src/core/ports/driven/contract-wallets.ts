/** A message with its claimed signer. */
export interface SignedMessage {
  readonly text: string;
  readonly address: `0x${string}`;
  readonly chainId: number;
  readonly signature: `0x${string}`;
}

/** Verifies signatures of smart contract wallets, which have no private key. Implemented in tools/wallet/. */
export interface ContractWallets {
  /**
   * Returns true if the contract at the address accepts the signature (EIP-1271), including a contract that
   * is not yet deployed (ERC-6492). Returns false for an unconfigured chain. Rejects if the chain's RPC
   * endpoint fails.
   */
  isSigned(message: SignedMessage): Promise<boolean>;
}
