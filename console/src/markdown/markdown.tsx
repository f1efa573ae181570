import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import type { JSX } from 'preact';
import { CopyText } from '../parts/copy-text.js';
import { memo } from '../parts/memo.js';
import { Inline, renderInline } from './inline.js';

/**
 * Markdown as elements. The text is never parsed as HTML: marked's lexer gives tokens, and HTML in them stays text.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown">
      {Lexer.lex(text, { gfm: true }).map((token, index) => (
        <Block key={index} token={token} raw={token.raw} />
      ))}
    </div>
  );
});

interface Props {
  token: Token;
  /** The source of the token: as long as it stays the same, so does the block. */
  raw: string;
}

/** One block of a text. While the text streams, only its last block is rendered again. */
const Block = memo(
  function Block({ token }: Props) {
    return renderBlock(token as MarkedToken);
  },
  ['token'],
);

function renderBlock(token: MarkedToken): JSX.Element | string | null {
  switch (token.type) {
    case 'paragraph':
      return <p>{renderInline(token.tokens)}</p>;
    case 'heading':
      return <Heading depth={token.depth}>{renderInline(token.tokens)}</Heading>;
    case 'code':
      return <Code token={token} />;
    case 'blockquote':
      return <blockquote>{renderBlocks(token.tokens)}</blockquote>;
    case 'list':
      return <List token={token} />;
    case 'table':
      return <Table token={token} />;
    case 'hr':
      return <hr />;
    case 'space':
    case 'def':
      return null;
    case 'html':
      return <p>{token.text}</p>;
    default:
      return <Inline token={token} />;
  }
}

function renderBlocks(tokens: Token[]) {
  return tokens.map((token, index) => <Block key={index} token={token} raw={token.raw} />);
}

/** The page has its own h1 to h3: headings of a text start below them. */
function Heading({ depth, children }: { depth: number; children: JSX.Element[] }) {
  const Tag = depth <= 1 ? 'h4' : depth === 2 ? 'h5' : 'h6';
  return <Tag>{children}</Tag>;
}

function Code({ token }: { token: Tokens.Code }) {
  return (
    <div class="code-block">
      <div class="code-head">
        <span>{token.lang ?? ''}</span>
        <CopyText text={token.text} label="code">
          Copy
        </CopyText>
      </div>
      {/* Focusable, so that the keyboard can scroll it. */}
      <pre tabIndex={0}>
        <code>{token.text}</code>
      </pre>
    </div>
  );
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? 'task' : undefined}>
      {item.task && (
        <input type="checkbox" disabled checked={item.checked ?? false} aria-label={item.checked ? 'done' : 'open'} />
      )}
      {renderBlocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ));
  return token.ordered ? <ol start={token.start === '' ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token }: { token: Tokens.Table }) {
  return (
    <div class="table" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} class={cell.align ?? undefined}>
                {renderInline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, index) => (
                <td key={index} class={cell.align ?? undefined}>
                  {renderInline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
