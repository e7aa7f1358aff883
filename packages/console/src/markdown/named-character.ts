// In place of the module that Markdown's parser has for browsers: it sets innerHTML, which the page's policy refuses, so that any "&amp;"
// of an answer would end the page. A table of all names would be 12 KB more to load.

/** The one policy that the page's content security policy lets be: whatever it is given, what it makes is one character at most. */
const policy = (globalThis as { readonly trustedTypes?: PolicyMaker }).trustedTypes?.createPolicy(
  "colloquy-character",
  { createHTML: referenceOf },
);
const element = document.createElement("i");

interface PolicyMaker {
  createPolicy(
    name: string,
    rules: { createHTML: (name: string) => string },
  ): { createHTML: (name: string) => string };
}

/** The character that HTML calls `name` ("amp"), `false` for none. */
export function decodeNamedCharacterReference(name: string): string | false {
  const reference = referenceOf(name);
  element.innerHTML = policy === undefined ? reference : policy.createHTML(name);
  const character = element.textContent;
  // Of "notit" HTML reads the beginning, which is a name too, and leaves the rest.
  const isRest = character.endsWith(";") && name !== "semi";
  return character === "" || isRest || character === reference ? false : character;
}

function referenceOf(name: string): string {
  return /^[A-Za-z][A-Za-z0-9]*$/.test(name) ? `&${name};` : "";
}
