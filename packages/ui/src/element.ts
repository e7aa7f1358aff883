// Defines `<colloquy-chat>` for pages without React, by `import "@colloquy/ui/element"` or by one script tag.

import { ColloquyChatElement } from "./page/chat-element.tsx";

export { ColloquyChatElement };

if (customElements.get("colloquy-chat") === undefined)
  customElements.define("colloquy-chat", ColloquyChatElement);
