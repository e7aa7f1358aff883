import { useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import {
  Button,
  Dialog,
  DialogButtons,
  DialogFailure,
  Field,
  browserWallet,
  connectWallet,
  type BrowserWallet,
} from "@colloquy/ui/parts";
import { asksForProof, signInWith } from "./wallet-sign-in.ts";

/** Pattern of wallet addresses that the service accepts. */
const ADDRESS = "[!-~]{1,128}";

/** Returns functions that select a wallet, and their last error. */
function useChoice(onClose: () => void) {
  const { wallet: connected, anonymous, selectWallet } = useConnection();
  const [failure, setFailure] = useState<string | null>(null);
  const select: typeof selectWallet = (address, signedIn) => {
    selectWallet(address, signedIn);
    onClose();
  };
  /** Connects the browser's wallet, unless it is connected already, and signs in if the App requires it. */
  const ask = async (wallet: BrowserWallet, isSignIn: boolean): Promise<void> => {
    setFailure(null);
    try {
      const account = isSignIn && connected !== null ? connected : await connectWallet(wallet);
      const needsProof = isSignIn || (await asksForProof(anonymous, account));
      select(account, needsProof ? await signInWith(anonymous, wallet, account) : null);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "The wallet did not answer. Try again.");
    }
  };
  return { connected, failure, select, ask };
}

/** Selects the wallet whose conversations are shown. */
export function WalletDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { connected, failure, select, ask } = useChoice(onClose);
  const [address, setAddress] = useState(connected ?? "");
  const wallet = browserWallet();
  return (
    <Dialog title="Wallet" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          select(address.trim(), null);
        }}
      >
        <p>
          With a wallet, the list shows the conversations of that wallet, and new ones are bound to it. Some
          Apps ask the wallet to sign a message, which proves that you hold it.
        </p>
        {wallet !== null && (
          <DialogButtons>
            {connected !== null && (
              <Button onClick={() => void ask(wallet, true)}>Sign in with this wallet</Button>
            )}
            <Button look="primary" onClick={() => void ask(wallet, false)}>
              Connect the browser’s wallet
            </Button>
          </DialogButtons>
        )}
        <Field
          label="Address"
          placeholder="0x…"
          value={address}
          pattern={`\\s*${ADDRESS}\\s*`}
          title="1 to 128 characters without spaces"
          required
          onChange={(event) => setAddress(event.target.value)}
        />
        <DialogFailure sentence={failure} />
        <DialogButtons>
          {connected !== null && <Button onClick={() => select(null, null)}>Disconnect</Button>}
          <Button type="submit" look={wallet === null ? "primary" : "plain"}>
            Use this address
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
