/** A message with its claimed signer. */
export interface SignedMessage {
  readonly text: string;
  readonly address: `0x${string}`;
  readonly chainId: number;
  readonly signature: `0x${string}`;
}

/** Wallets that are contracts, and so have no key that could sign. Implemented in tools/wallet/. */
export interface ContractWallets {
  /**
   * Returns true if the contract at the address accepts the signature (EIP-1271), also before it is deployed (ERC-6492); false on a chain
   * that is not configured. Rejects if the chain's server does not answer.
   */
  isSigned(message: SignedMessage): Promise<boolean>;
}
