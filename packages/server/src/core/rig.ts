/** The provider of a rig (`provider/model`): what stands before the first `/`. */
export function providerOf(rig: string): string {
  const slash = rig.indexOf("/");
  return slash < 0 ? rig : rig.slice(0, slash);
}
