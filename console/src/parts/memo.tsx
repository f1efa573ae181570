import { Component, type ComponentType, type VNode } from 'preact';

/** Renders again only when a property has changed. `ignored` properties are not compared. */
export function memo<Props extends object>(Inner: ComponentType<Props>, ignored: (keyof Props)[] = []) {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const names = Object.keys(next) as (keyof Props)[];
      return names.some((name) => !ignored.includes(name) && next[name] !== this.props[name]);
    }

    override render(): VNode {
      return <Inner {...this.props} />;
    }
  };
}
