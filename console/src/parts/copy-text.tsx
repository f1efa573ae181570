import { useState } from 'preact/hooks';
import { useAnnounce } from './announcer.js';

interface Props {
  /** A function, where making the text costs something. */
  text: string | (() => string);
  /** What it is, for a screen reader: `session id`. */
  label: string;
  /** Shown instead of the text. */
  children?: string;
}

export function CopyText({ text, label, children }: Props) {
  const [copied, setCopied] = useState(false);
  const announce = useAnnounce();
  const copy = async (): Promise<void> => {
    await copyText(typeof text === 'function' ? text() : text);
    setCopied(true);
    announce(`Copied the ${label}`);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" class="copy" title={`Copy the ${label}`} onClick={() => void copy()}>
      {children ?? <code>{text as string}</code>}
      <span class="visually-hidden">: copy the {label}</span>
      <CopyMark copied={copied} />
    </button>
  );
}

function CopyMark({ copied }: { copied: boolean }) {
  return (
    <svg class="copy-mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d={copied ? 'M3 8.5l3.5 3.5L13 5' : 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3'} />
    </svg>
  );
}

/** The clipboard API needs https or localhost; elsewhere a selection is copied the old way. */
async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
