/** The start of the text, in code units, and its end. */
export interface Span {
  start: number;
  end: number;
}

/**
 * Finds several secrets in one pass over a text (Aho–Corasick). Each character takes a bounded number of steps on average,
 * whatever the text and the secrets; `String.replaceAll` needs the product of their lengths in the worst case. Nodes are
 * numbers: node 0 is the root, and a node stands for the beginning of one or several secrets.
 */
export class SecretSearch {
  readonly #unit = [0];
  readonly #firstChild = [0];
  readonly #sibling = [0];
  readonly #depth = [0];
  /** The node of the longest other beginning of a secret that the node's text ends with. */
  readonly #fallback = [0];
  /** Length of the longest secret that the node's text ends with. */
  readonly #found = [0];

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) this.#add(secret);
    this.#link();
  }

  /** The node after one more code unit of a text. */
  next(node: number, unit: number): number {
    let from = node;
    let to = this.#childOf(from, unit);
    while (to === 0 && from !== 0) {
      from = this.#fallback[from]!;
      to = this.#childOf(from, unit);
    }
    return to;
  }

  /** Length of the end of the text that is the beginning of a secret. */
  depth(node: number): number {
    return this.#depth[node]!;
  }

  /** Length of the longest secret that ends here; 0 if none does. */
  found(node: number): number {
    return this.#found[node]!;
  }

  #childOf(node: number, unit: number): number {
    let child = this.#firstChild[node]!;
    while (child !== 0 && this.#unit[child] !== unit) child = this.#sibling[child]!;
    return child;
  }

  #add(secret: string): void {
    let node = 0;
    for (let at = 0; at < secret.length; at += 1) {
      const unit = secret.charCodeAt(at);
      node = this.#childOf(node, unit) || this.#addChild(node, unit);
    }
    this.#found[node] = secret.length;
  }

  #addChild(node: number, unit: number): number {
    const child = this.#unit.push(unit) - 1;
    this.#firstChild.push(0);
    this.#sibling.push(this.#firstChild[node]!);
    this.#firstChild[node] = child;
    this.#depth.push(this.#depth[node]! + 1);
    this.#fallback.push(0);
    this.#found.push(0);
    return child;
  }

  /** From the root down: the fallback of a node needs those of the shorter ones. */
  #link(): void {
    const nodes = [0];
    for (const node of nodes) {
      for (let child = this.#firstChild[node]!; child !== 0; child = this.#sibling[child]!) {
        nodes.push(child);
        if (node !== 0) this.#fallback[child] = this.next(this.#fallback[node]!, this.#unit[child]!);
        this.#found[child] = Math.max(this.#found[child]!, this.#found[this.#fallback[child]!]!);
      }
    }
  }
}
