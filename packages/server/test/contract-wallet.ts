// A wallet that is a contract (EIP-1271), assembled by hand: its owner's signatures are its own.

import {
  concat,
  encodeAbiParameters,
  getContractAddress,
  serializeErc6492Signature,
  type Address,
  type Hex,
} from "viem";
import { deployment } from "@colloquy/engine/internal/tools/wallet/testing/canned-contract";

/** Returns the code that deploys a wallet of an owner. */
export function walletCode(owner: Address): Hex {
  return deployment(
    concat([
      "0x6004355f52", // memory[0] = hash
      "0x60a4355f1a602052", // memory[32] = v, the last byte of the signature
      "0x60406064604037", // memory[64] = r and s
      "0x6020608060805f60015afa50", // memory[128] = ecrecover(memory[0..128])
      concat(["0x60805173", owner, "0x14"]), // is it the owner?
      "0x631626ba7e60e01b025f5260205ff3", // return 0x1626ba7e for yes, else 0
    ]),
  );
}

/** Returns the code that deploys a factory, which creates contracts with CREATE2 from salt and code. */
export function factoryCode(): Hex {
  return deployment(
    "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3",
  );
}

/** A wallet that a factory has not created yet (ERC-6492). */
export function futureWallet(factory: Address, owner: Address) {
  const salt = encodeAbiParameters([{ type: "uint256" }], [1n]);
  const code = walletCode(owner);
  return {
    address: getContractAddress({ opcode: "CREATE2", from: factory, salt, bytecode: code }),
    /** Wraps the owner's signature with what creates the wallet. */
    wrap: (signature: Hex): Hex =>
      serializeErc6492Signature({ address: factory, data: concat([salt, code]), signature }),
  };
}
