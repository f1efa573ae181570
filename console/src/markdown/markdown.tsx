import { Lexer } from 'marked';
import { memo } from '../parts/memo.js';
import { Block } from './block.js';

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
