/** For `catch`, where a failure changes nothing. The reason is for readers of the code. */
export function ignored(_reason: string): (error: unknown) => undefined {
  return () => undefined;
}
