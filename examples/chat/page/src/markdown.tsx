import { Lexer, type MarkedToken, type Token } from 'marked';
import { memo, type ReactNode } from 'react';

/** Markdown as elements. HTML in it stays text, so that nothing an agent writes runs in the page. */
export function Markdown({ text }: { text: string }): ReactNode {
  return (
    <div className="markdown">
      {Lexer.lex(text, { gfm: true }).map((token, index) => (
        <Block key={index} token={token as MarkedToken} raw={token.raw} />
      ))}
    </div>
  );
}

/** While a text comes, only its last block is made again. */
const Block = memo(
  ({ token }: { token: MarkedToken; raw: string }) => element(token),
  (before, after) => before.raw === after.raw,
);

const all = (tokens: Token[] = []): ReactNode[] => tokens.map((token, index) => <Inner key={index} token={token} />);
const Inner = ({ token }: { token: Token }): ReactNode => element(token as MarkedToken);

function element(token: MarkedToken): ReactNode {
  switch (token.type) {
    case 'paragraph':
      return <p>{all(token.tokens)}</p>;
    case 'heading':
      return <p className="heading">{all(token.tokens)}</p>;
    case 'code':
      return (
        <pre tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case 'blockquote':
      return <blockquote>{all(token.tokens)}</blockquote>;
    case 'list': {
      const items = token.items.map((item, index) => <li key={index}>{all(item.tokens)}</li>);
      return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
    }
    case 'table':
      return (
        <div className="table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {token.header.map((cell, index) => (
                  <th key={index}>{all(cell.tokens)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {token.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{all(cell.tokens)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'hr':
      return <hr />;
    case 'strong':
      return <strong>{all(token.tokens)}</strong>;
    case 'em':
      return <em>{all(token.tokens)}</em>;
    case 'del':
      return <del>{all(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return /^https?:/.test(token.href) ? (
        <a href={token.href} target="_blank" rel="noreferrer">
          {all(token.tokens)}
        </a>
      ) : (
        token.raw
      );
    case 'space':
    case 'def':
      return null;
    case 'text':
      return 'tokens' in token && token.tokens ? all(token.tokens) : token.text;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}
