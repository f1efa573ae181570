import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Agent sessions`;
  }, [title]);
  return (
    <div class="page-head">
      <h1>{title}</h1>
      <div class="actions">{children}</div>
    </div>
  );
}
