import type { MarkedToken, Token, Tokens } from 'marked';
import type { ComponentChildren, JSX } from 'preact';
import { decodeEntities } from './entities.js';
import { safeHref } from './links.js';

export function renderInline(tokens: Token[]): JSX.Element[] {
  return tokens.map((token, index) => <Inline key={index} token={token} />);
}

export function Inline({ token: given }: { token: Token }): JSX.Element {
  const token = given as MarkedToken;
  switch (token.type) {
    case 'strong':
      return <strong>{renderInline(token.tokens)}</strong>;
    case 'em':
      return <em>{renderInline(token.tokens)}</em>;
    case 'del':
      return <del>{renderInline(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Link href={token.href}>{renderInline(token.tokens)}</Link>;
    case 'image':
      // No request to another host: an image is a link to itself.
      return <Link href={token.href}>{imageLabel(token)}</Link>;
    case 'text':
      return <>{token.tokens === undefined ? decodeEntities(token.text) : renderInline(token.tokens)}</>;
    case 'escape':
      return <>{token.text}</>;
    default:
      return <>{token.raw}</>;
  }
}

function imageLabel({ text, href }: Tokens.Image): string {
  return `[image: ${decodeEntities(text) || href}]`;
}

function Link({ href, children }: { href: string; children: ComponentChildren }) {
  const address = safeHref(href);
  if (address === null) return <>{children}</>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
