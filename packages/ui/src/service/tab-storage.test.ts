import { expect, it } from "vitest";
import { serviceStorageKey, tabStorage } from "./tab-storage.ts";

it.each([
  ["http://host/", "colloquy.settings"],
  ["http://host/#/chat/1", "colloquy.settings"],
  ["http://host/index.html?x=1", "colloquy.settings"],
  ["http://host/prod/", "colloquy.settings /prod/"],
  ["http://host/prod/#/chat/a/b", "colloquy.settings /prod/"],
])("at %s the storage name of an entry is %s", (href, name) => {
  expect(serviceStorageKey("colloquy.settings", { href })).toBe(name);
});

it("separates entries of different paths of a host", () => {
  const kept = new Map<string, string>();
  const sessionStorage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
  const at = (href: string) => tabStorage({ sessionStorage, location: { href } });
  at("http://host/prod/").setItem("key", "of prod");
  expect([at("http://host/prod/#/").getItem("key"), at("http://host/staging/").getItem("key")]).toEqual([
    "of prod",
    null,
  ]);
  at("http://host/staging/").removeItem("key");
  expect(at("http://host/prod/").getItem("key")).toBe("of prod");
});
