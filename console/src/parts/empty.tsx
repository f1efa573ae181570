import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.js';

interface Props {
  title: string;
  icon?: IconName;
  children: ComponentChildren;
}

export function Empty({ title, icon = 'info', children }: Props) {
  return (
    <div class="empty">
      <Icon name={icon} size={24} />
      <p>
        <strong>{title}</strong>
      </p>
      <p>{children}</p>
    </div>
  );
}
