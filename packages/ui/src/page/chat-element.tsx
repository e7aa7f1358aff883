import { createRoot, type Root } from "react-dom/client";
import { ElementPage } from "./element-page.tsx";

/**
 * The custom element `<colloquy-chat>`. Attributes: `url` of the service (default: the page's origin), `app`,
 * and `session` to show a single conversation. Without `session`, it shows a chat page that stores its list
 * of conversations in this browser or, with `signed-in`, gets it from the service.
 */
export class ColloquyChatElement extends HTMLElement {
  static readonly observedAttributes = ["url", "app", "session", "signed-in"];
  #root: Root | null = null;

  connectedCallback(): void {
    // Keep the root if the page moved the element.
    if (this.#root !== null) return;
    // The shadow root isolates the page's styles and the components' styles from each other.
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const styles = document.createElement("link");
    styles.rel = "stylesheet";
    styles.href = new URL("./styles.css", import.meta.url).href;
    const own = document.createElement("style");
    own.textContent = ":host { display: block; min-height: 20rem; } .root { height: 100%; }";
    const container = document.createElement("div");
    container.className = "root";
    shadow.replaceChildren(styles, own, container);
    for (const type of ["keydown", "keypress", "keyup"]) shadow.addEventListener(type, keepTyping);
    this.#root = createRoot(container);
    this.#render();
  }

  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#root?.unmount();
      this.#root = null;
    });
  }

  attributeChangedCallback(): void {
    this.#render();
  }

  #render(): void {
    const url = this.getAttribute("url") ?? globalThis.location.origin;
    this.#root?.render(
      <ElementPage
        url={url}
        app={this.getAttribute("app")}
        session={this.getAttribute("session")}
        signedIn={this.hasAttribute("signed-in")}
      />,
    );
  }
}

/**
 * Keeps keys that write text from the page, for which the element is their target: its shortcuts of single letters would
 * act, and move the focus.
 */
function keepTyping(event: Event): void {
  const { target, key, ctrlKey, metaKey } = event as KeyboardEvent;
  const isField = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  if (isField && !ctrlKey && !metaKey && key !== "Escape") event.stopPropagation();
}
