import { expect, it } from "vitest";
import { toolTurn } from "../testing/tool-turn.ts";
import { addressOfUser } from "./users-wallet.ts";

const BOUND = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
const OTHER = "0x52908400098527886E0F7030069857D2E4169EE7";

it.each([
  [null, "wallet that the session is bound to (verified: the user signed in with it)"],
  [BOUND, "connected wallet of the user (verified: the user signed in with it)"],
  [OTHER, "connected wallet of the user (claimed by the client, not verified)"],
])("is verified only if it is the proved wallet: with %s connected", (connected, source) => {
  const userState = connected === null ? null : { evm: { address: connected } };
  const turn = toolTurn("shop", { publicKey: BOUND.toLowerCase(), walletProved: true, userState });
  expect(addressOfUser(turn)).toEqual({ address: connected ?? BOUND, source });
});

it("names the only chain of a proved contract wallet", () => {
  const publicKey = BOUND.toLowerCase();
  const turn = toolTurn("shop", { publicKey, walletId: `eip155:10:${publicKey}`, walletProved: true });
  expect(addressOfUser(turn)?.source).toBe(
    "wallet that the session is bound to (verified: the user signed in with it, as a contract on the chain 10 only)",
  );
});
