const ALLOWED = new Set(['http:', 'https:', 'mailto:']);

/** The address when it is absolute and of a kind that is safe to follow; else null, and the text is shown alone. */
export function safeHref(href: string): string | null {
  return URL.canParse(href) && ALLOWED.has(new URL(href).protocol) ? href : null;
}
