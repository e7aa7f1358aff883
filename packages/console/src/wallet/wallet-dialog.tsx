import { useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Button } from "../design/button.tsx";
import { Dialog } from "../design/dialog.tsx";
import { DialogButtons, DialogFailure, Field } from "../design/dialog-parts.tsx";
import { browserWallet, connectWallet } from "./browser-wallet.ts";

/** Pattern of wallet addresses that the service accepts. */
const ADDRESS = "[!-~]{1,128}";

/** Selects the wallet whose conversations are shown. */
export function WalletDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { wallet: connected, change } = useConnection();
  const [address, setAddress] = useState(connected ?? "");
  const [failure, setFailure] = useState<string | null>(null);
  const wallet = browserWallet();
  const use = (given: string | null): void => {
    change({ wallet: given });
    onClose();
  };
  const ask = async (): Promise<void> => {
    if (wallet === null) return;
    setFailure(null);
    try {
      use(await connectWallet(wallet));
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "The wallet did not answer. Try again.");
    }
  };
  return (
    <Dialog title="Wallet" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          use(address.trim());
        }}
      >
        <p>
          With a wallet address, the list shows the conversations of that wallet, and new ones are bound to
          it. The service does not check who owns the address.
        </p>
        {wallet !== null && (
          <DialogButtons>
            <Button look="primary" onClick={() => void ask()}>
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
          {connected !== null && <Button onClick={() => use(null)}>Disconnect</Button>}
          <Button type="submit" look={wallet === null ? "primary" : "plain"}>
            Use this address
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
