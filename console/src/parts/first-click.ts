/** False for the second click of a double click: what moved to this place meanwhile must not get it. A key counts as a first one. */
export function isFirstClick({ detail }: { detail: number }): boolean {
  return detail <= 1;
}
