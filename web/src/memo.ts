// A component that is drawn anew only when one of its properties differs.
import { Component, createElement, type ComponentType } from 'preact'

export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Record<string, unknown>
      return Object.entries(next).some(([key, value]) => before[key] !== value)
    }
    override render() { return createElement(Inner, this.props as P) }
  }
}
